"""Verbs check that their output can be written before they start."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gymposium.cli.main import app

SUITE = Path(__file__).parents[3] / "benchmarks" / "leaderboard" / "quick.toml"
NOWHERE = "/dev/null/below"


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["run", "kuhn_poker", "--players", "random,random", "--out", NOWHERE], "--out"),
        (["play", "kuhn_poker", "--out", NOWHERE], "--out"),
        (["audit", ".", "--out", NOWHERE], "--out"),
        (["exploit", "random", "--game", "kuhn_poker", "--out", NOWHERE], "--out"),
        (["eval", "random", "--game", "kuhn_poker", "--out", NOWHERE], "--out"),
        (["train", "--game", "kuhn_poker", "--out", NOWHERE], "--out"),
        (["serve", "--game", "kuhn_poker", "--out", NOWHERE], "--out"),
        (["synth", "--game", "kuhn_poker", "--players", "random,random", "--out", NOWHERE], "--out"),
        (["model", "fetch", "smollm2", "--out", NOWHERE], "--out"),
        (["view", ".", "--export", NOWHERE], "--export"),
        (["leaderboard", "run", str(SUITE), "--out", NOWHERE], "--out"),
        (["leaderboard", "build", ".", "--out", NOWHERE], "--out"),
        (["lora", "merge", "no/model", "no/adapter", NOWHERE], "OUT"),
    ],
)
def test_unwritable_destination_is_refused_before_any_work(arguments: list[str], option: str) -> None:
    done = CliRunner().invoke(app, arguments, prog_name="gymposium")
    assert done.exit_code == 2, done.output
    assert (
        done.stderr
        == f"error: {option} {NOWHERE}: cannot be written (/dev/null is not a folder). Choose another path.\n"
    )
    assert done.stdout == ""


def test_new_plugin_in_an_unwritable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(app, ["plugins", "new", "card-swap", "--directory", str(tmp_path / "file" / "x")])
    assert done.exit_code == 2, done.output
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.output
