"""`gymposium.play` plays the matches of `gymposium run` from Python."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.gymposium.cli.conftest import Run, gymposium as gymposium  # the fixture of the command

from gymposium import play
from gymposium.errors import BadOption, GymposiumError, UnknownName, WrongType
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.records import Record, verify_file


class FirstMove(RandomPlayer):
    """A player of this test's own, which plays the first legal move."""

    name = "first-move"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply((ask.legal_moves or ("",))[0]) for ask in asks]


def test_play_matches_the_command_and_writes_nothing(
    gymposium: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    played = play("kuhn_poker", ["mcts-5", "random"], n=20, seed=3)
    assert list(tmp_path.iterdir()) == []

    options = ("--players", "mcts-5,random", "-n", "20", "--seed", "3", "--out", "run")
    shown = gymposium("run", "kuhn_poker", *options)
    lines = [Record.parse(line) for line in (tmp_path / "run" / "matches.jsonl").read_text().splitlines()]
    assert played.records == lines
    assert re.sub(" +", " ", repr(played)).split() == re.sub(" +", " ", shown.stdout).split()

    again = gymposium("run", "--resume", "run", "--json")
    told: dict[str, Any] = json.loads(again.stdout)
    assert told.pop("record") == "run/matches.jsonl"
    assert json.loads(json.dumps(played.as_dict())) == told


def test_each_player_is_scored_over_all_seats() -> None:
    played = play("tic_tac_toe", ["mcts-20", FirstMove()], n=10)
    better, worse = played.scores
    assert better.matches == worse.matches == 10
    won = [record.results[record.players.index("mcts-20")] == "win" for record in played.records]
    assert better.results["win"] == sum(won) > 0
    assert better.result_rate("win").value == worse.result_rate("loss").value
    assert better.mean_return().value == -worse.mean_return().value > 0
    assert [record.players for record in played.records[:2]] == [["mcts-20", "first-move"], ["first-move", "mcts-20"]]
    fixed = play("tic_tac_toe", ["random", FirstMove()], n=2, swap=False)
    assert [record.players for record in fixed.records] == [["random", "first-move"]] * 2


@pytest.mark.parametrize(("game", "seats"), [("2048", 1), ("liars_dice", 2), ("hearts", 4)])
def test_each_seat_has_one_player(game: str, seats: int) -> None:
    played = play(game, ["random"] * seats)
    assert len(played.scores) == seats
    [record] = played.records
    assert record.players == ["random"] * seats
    assert ("random (2)" in repr(played)) == (seats > 1)


def test_out_writes_a_complete_verifiable_run(gymposium: Run, tmp_path: Path) -> None:
    played = play("kuhn_poker", ["random", "random"], n=4, out=tmp_path / "mine")
    assert played.folder == tmp_path / "mine"
    verified = verify_file(played.folder / "matches.jsonl")
    assert (verified.matches, verified.planned, verified.finished, verified.problems) == (4, 4, True, [])
    assert gymposium("run", "--resume", "mine").returncode == 0
    with pytest.raises(BadOption, match="not empty"):
        play("kuhn_poker", ["random", "random"], out=tmp_path / "mine")
    with pytest.raises(BadOption, match=r"matches\.jsonl is not a folder\. Name a new or empty folder\.$"):
        play("kuhn_poker", ["random", "random"], out=tmp_path / "mine" / "matches.jsonl")


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "told"),
    [
        (("kuhn_poker", "random"), {}, WrongType, "players must be a list with one player per seat"),
        (("kuhn_poker", ["random"]), {}, BadOption, "kuhn_poker needs 2 players, not 1"),
        (("kuhn_poker", ["random", 3]), {}, BadOption, "3 is not a player"),
        (("kuhn_poker", ["random", "human"]), {}, BadOption, "gymposium play kuhn_poker"),
        (("kuhn_poker", ["random", "mct-5"]), {}, UnknownName, "Did you mean 'mcts-N'"),
        (("kuhn_poke", ["random", "random"]), {}, UnknownName, "Did you mean 'kuhn_poker'"),
        (("kuhn_poker", ["random", "random"], 0), {}, BadOption, "n=0 must be at least 1"),
        (("kuhn_poker", ["random", "random"]), {"schedule": "waves"}, BadOption, "Use rounds or streaming"),
        (("kuhn_poker", ["random", "random"]), {"on_illegal": "skip"}, GymposiumError, "Unknown policy"),
    ],
)
def test_invalid_arguments_say_what_to_do(arguments: Any, options: Any, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=re.escape(told)):
        play(*arguments, **options)
