"""Printed text: tables wider than the terminal, and terminal escapes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from rich.table import Column, Table
from rich.text import Text
from tests.commands import run_command
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium.cli.text import make_stdout_console

COMMAND = str(Path(sys.executable).with_name("gymposium"))
CRASHING = """
from gymposium import OpponentSpec, hookimpl
from gymposium.replies.reading import READERS

class Crashing:
    name, reader, style = "crashing", READERS["move"], "compact"
    def act(self, asks):
        raise ValueError("\x1b]0;title\x07boom")

@hookimpl
def gymposium_opponents():
    yield OpponentSpec(
        name="crashing", form="crashing", pattern="crashing", summary="Crash.", entry_point="crashing:Crashing"
    )
"""


@pytest.mark.parametrize("width", [12, 20, 40, 80])
def test_tables_cut_no_word(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    table = Table("", "mcts-10", Column("mean return", no_wrap=True), box=None, title="Scores")
    rows = [("win", "0.850 [0.600, 0.950]", "-12.345"), ("illegal", Text("0.125"), "")]
    for row in rows:
        table.add_row(*row)
    make_stdout_console().print(table)
    printed = capsys.readouterr().out
    assert {word for row in rows for cell in row for word in str(cell).split()} <= set(printed.split())
    assert max(map(len, printed.splitlines())) <= width


def test_run_figures_stay_whole_in_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    arguments = ["run", "kuhn_poker", "--players", "random,random", "-n", "4", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, arguments, prog_name="gymposium")
    assert done.exit_code == 0
    assert "…" not in done.stdout
    assert "random (1): 0.000 " in done.stdout


@pytest.mark.parametrize("path", ["", "a\nb", "a\u2028b"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "hex", "--players", "random,random", "--out"],
        ["run", "--resume"],
        ["train", "--game", "hex", "--out"],
        ["leaderboard", "run", "suite.toml", "--out"],
        ["exploit", "random", "--game", "kuhn_poker", "--out"],
        ["verify"],
        ["view"],
        ["audit"],
        ["review"],
    ],
)
def test_invalid_path_is_a_one_line_error(
    arguments: list[str], path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*arguments, path], prog_name="gymposium")
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert ("a path must not have newlines or tabs" if path else "the path is empty") in line
    assert not list(tmp_path.iterdir())


def test_empty_plugin_path_is_refused() -> None:
    done = CliRunner().invoke(app, ["--plugin", "", "list"], prog_name="gymposium")
    assert (done.exit_code, "--plugin: the path is empty" in done.stderr) == (2, True)


def test_tracebacks_cannot_emit_terminal_escapes(tmp_path: Path) -> None:
    (tmp_path / "crashing.py").write_text(CRASHING, encoding="utf-8")
    arguments = ["--plugin", "crashing.py", "run", "kuhn_poker", "--players", "crashing,random", "-n", "2"]
    done = run_command(*arguments, folder=tmp_path, env=os.environ)
    assert "Traceback" in done.stderr
    assert "␛]0;title␇boom" in done.stderr
    assert not {"\x1b", "\x07"}.intersection(done.stderr)
