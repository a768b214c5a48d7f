"""`gymposium play`: reports of opponents' moves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gymposium import load_game
from gymposium.records import Record

from .conftest import Run


def read_reported_moves(
    gymposium: Run, folder: Path, game: str, seat: int, opponent: str = "random"
) -> tuple[list[str], Record]:
    """The moves of others that were printed, in order, and the record. The person plays the first legal moves."""
    typed, out = "", ""
    while not (folder / "here").exists():
        done = gymposium(
            *("play", game, "--opponent", opponent, "--seat", str(seat), "--seed", "5", "--out", "here"), typed=typed
        )
        assert done.returncode == 0 or "The input ended" in done.stderr, done.stderr
        out = done.stdout
        typed += re.findall(r"Legal moves: (.+?)(?:, |$)", out, flags=re.MULTILINE)[-1] + "\n"
    [line] = (folder / "here" / "matches.jsonl").read_text(encoding="utf-8").splitlines()
    return re.findall(r"(\S+(?: in seat \d)? plays .+)\.$", out, flags=re.MULTILINE), Record.parse(line)


@pytest.mark.parametrize("seat", [0, 1])
def test_play_reports_each_opponent_move(gymposium: Run, tmp_path: Path, seat: int) -> None:
    told, record = read_reported_moves(gymposium, tmp_path, "tic_tac_toe", seat, "mcts-5")
    assert told == [f"mcts-5 plays {event.move}" for event in record.events if event.seat == 1 - seat]
    assert told


@pytest.mark.parametrize(
    "game", ["kuhn_poker", "phantom_ttt", "dark_hex(num_rows=2,num_cols=2)", "goofspiel(num_cards=3)", "liars_dice"]
)
def test_play_hides_opponent_moves_in_imperfect_information(gymposium: Run, tmp_path: Path, game: str) -> None:
    told, record = read_reported_moves(gymposium, tmp_path, game, 0)
    assert load_game(game).spec.information == "imperfect"
    assert any(event.seat == 1 for event in record.events)
    assert not told
