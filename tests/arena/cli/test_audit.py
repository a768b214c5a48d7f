"""The command `gymposium audit`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.gymposium.cli.conftest import Run

from gymposium.records import read_records

LOGS = Path(__file__).parents[1] / "audit" / "logs"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The committed logs without those of inspect_ai, which need zstandard."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for file in LOGS.glob("*.jsonl"):
        shutil.copy(file, folder)
    return folder


def test_honest_logs_become_records_that_verify(gymposium: Run, logs: Path, tmp_path: Path) -> None:
    done = gymposium("audit", "logs", "--out", "audited", "--agents", "ann,ben")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "24 episodes: 24 replayed as logged." in done.stdout
    assert "Forfeits by cause" in done.stdout
    assert "timed out" in done.stdout
    assert "Ratings with 95% intervals" in done.stdout
    assert "Written: audited/matches.jsonl" in done.stderr
    assert "--agents does not apply to 15 episodes: the logs name the agents." in done.stderr
    verified = gymposium("verify", "audited")
    assert verified.returncode == 0, verified.stdout
    assert "24 matches played again; all agree (chance in 6 is as recorded" in verified.stdout
    records = [record for _, record in read_records(tmp_path / "audited" / "matches.jsonl")]
    assert len({record.id for record in records}) == len(records) == 24
    assert gymposium("audit", "logs", "--out", "audited").returncode == 2  # nothing is overwritten
    assert gymposium("replay", "audited/matches.jsonl").returncode == 0


def test_json_holds_episodes_agents_and_ratings(gymposium: Run, logs: Path) -> None:
    done = gymposium("audit", "logs/kaggle.jsonl", "logs/textarena.jsonl", "--agents", "ann,ben", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["problems"]) == (0, 0)
    causes = {(row["game"], row["agent"]): row["failures"] for row in found["agents"]}
    assert causes["connect_four", "bob"] == {"illegal": 1, "timed out": 1}
    assert causes["tic_tac_toe", "bob"] == {"illegal": 1}
    assert causes["connect_four", "ann"] == {"unparsable": 1}
    rated = {row["agent"]: row for row in found["ratings"] if row["game"] == "connect_four"}
    assert rated["alice"]["value"] == 0.0
    assert rated["bob"]["low"] < rated["bob"]["value"] < rated["bob"]["high"]
    assert rated["bob"]["matches"] == 3
    first = found["episodes"][0]
    assert (first["format"], first["game"], first["agents"]) == (
        "kaggle-environments",
        "connect_four",
        ["alice", "bob"],
    )


def test_differences_are_reported_and_excluded(gymposium: Run, logs: Path, tmp_path: Path) -> None:
    file = logs / "openspiel.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([lines[0].replace('"returns": [1.0, -1.0]', '"returns": [-1.0, 1.0]'), *lines[1:]]))
    done = gymposium("audit", "logs/openspiel.jsonl", "--out", "audited")
    assert done.returncode == 1
    assert "logs/openspiel.jsonl:1: the header's returns are [-1.0, 1.0], but the match pays [1.0, -1.0]" in done.stdout
    assert "8 episodes: 7 replayed as logged; 1 not." in done.stdout
    assert len((tmp_path / "audited" / "matches.jsonl").read_text().splitlines()) == 7


def test_paths_and_options_are_checked(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, says in (
        (("audit", "nowhere.jsonl"), "nowhere.jsonl does not exist"),
        (("audit", "empty"), "empty has no logs"),
        (("audit", "empty", "--agents", "a,,b"), "give one name per seat"),
    ):
        done = gymposium(*arguments)
        assert done.returncode == 2
        assert says in done.stderr


def test_help_explains_formats_and_options(gymposium: Run) -> None:
    told = " ".join(gymposium("audit", "--help").stdout.split())
    for said in ("inspect_ai", "textarena-episode-1", "pyspiel.Trajectory", "env.toJSON()", "exit code", "--agents"):
        assert said in told
