"""`gymposium review`: its output and stored reviews."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.gymposium.cli.conftest import Run


def test_review_reports_losses_per_player(gymposium: Run, tmp_path: Path) -> None:
    assert gymposium("run", "tic_tac_toe", "--players", "exact,random", "-n", "6", "--out", "r").returncode == 0
    done = gymposium("review", "r", "--show", "2")
    assert done.returncode == 0, done.stderr
    text = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert text[0] == "tic_tac_toe: 6 matches, judged by exact"
    assert any(line.startswith("exact ") and "0.000 [0.000, " in line for line in text)
    drops = [line for line in text if "random played" in line]
    assert len(drops) == 2
    assert all("; better: " in line for line in drops)
    assert "6 matches reviewed now. Saved in r/matches.review.json" in done.stderr
    assert "0 matches reviewed now" in gymposium("review", "r").stderr


def test_review_json_output(gymposium: Run, tmp_path: Path) -> None:
    assert gymposium("run", "kuhn_poker", "--players", "cfr-20,random", "-n", "6", "--out", "r").returncode == 0
    done = gymposium("review", "r/matches.jsonl", "--judge", "cfr-50", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    (game,) = data["games"]
    assert (game["game"], game["judge"], game["exact"], data["problems"]) == ("kuhn_poker", "cfr-50", True, [])
    assert [row["player"] for row in game["players"]] == ["cfr-20", "random"]
    assert data["files"] == ["r/matches.review.json"]


def test_review_shows_a_teachers_moves(gymposium: Run, tmp_path: Path) -> None:
    assert gymposium("run", "tic_tac_toe", "--players", "mcts-50,random", "-n", "8", "--out", "r").returncode == 0
    review = gymposium("review", "r", "--show", "2").stdout
    stored = (tmp_path / "r" / "matches.review.json").read_bytes()
    done = gymposium("review", "r", "--show", "2", "--teacher", "exact")
    assert done.returncode == 0, done.stderr
    text = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert text[0] == "tic_tac_toe: 8 matches, judged by exact, beside exact"
    assert text[1].endswith(" agrees")
    plain = [" ".join(line.split()) for line in review.splitlines()]
    assert [line.rpartition(" ")[0] for line in text[2:4]] == plain[2:4]
    drops = [line.rpartition("; exact: ") for line in text if "random played" in line]
    assert [line for line, *_ in drops] == [line for line in plain if "random played" in line]
    assert all(re.fullmatch(r"[abc][123] [01]\.\d\d(, [abc][123] 0\.\d\d){0,2}", moves) for *_, moves in drops)
    assert (tmp_path / "r" / "matches.review.json").read_bytes() == stored
    data = json.loads(gymposium("review", "r", "--show", "2", "--teacher", "exact", "--json").stdout)
    (game,) = data["games"]
    assert game["teacher"] == "exact"
    assert [f"{row['agreement']:.3f}" for row in game["players"]] == [line.split()[-1] for line in text[2:4]]
    assert game["players"][0]["agreement"] > game["players"][1]["agreement"]
    for drop in game["drops"]:
        assert sum(drop["recommended"].values()) == pytest.approx(1)
        assert drop["best"] in drop["recommended"]


@pytest.mark.parametrize(
    ("teacher", "why"),
    [("human", "gymposium play"), ("auto", "only gymposium train chooses a teacher"), ("exact", "perfect information")],
)
def test_unsuitable_teachers_are_refused(gymposium: Run, teacher: str, why: str) -> None:
    assert gymposium("run", "kuhn_poker", "--players", "random,random", "-n", "2", "--out", "r").returncode == 0
    done = gymposium("review", "r", "--teacher", teacher)
    assert done.returncode == 2
    assert why in done.stderr


def test_unjudgeable_game_is_refused(gymposium: Run, tmp_path: Path) -> None:
    assert gymposium("run", "solitaire", "--players", "random", "-n", "1", "--out", "r").returncode == 0
    done = gymposium("review", "r")
    assert done.returncode == 2
    assert "moves can be judged only in zero-sum games with two seats" in done.stderr
    assert gymposium("review", "r", "--judge", "deep-blue").returncode == 2
    assert gymposium("run", "solitaire", "--players", "random", "-n", "1", "--out", "s").returncode == 0
    assert gymposium("review", "r", "s").stderr.count("moves can be judged only in zero-sum games") == 1
