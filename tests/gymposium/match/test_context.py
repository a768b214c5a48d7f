"""A full context ends the match with that reason, in every schedule and record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadRecord
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, MatchResult, Schedule, play
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record, RecordWriter, find_first_difference, verify_file
from gymposium.records.scores import Score
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import READERS

RANDOM = make_player("random")
JOINT = "goofspiel(num_cards=5)"


class ShortContextPlayer:
    """Plays at random until its turn `after`, when its context is full."""

    name, reader = "short", READERS["move"]

    def __init__(self, after: int) -> None:
        self.style: Style = "compact"
        self._after = after

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("", "context") if ask.turn >= self._after else RANDOM.act([ask])[0] for ask in asks]


def play_until_full(
    game: str, after: int, policy: str = "forfeit", schedule: Schedule = "rounds", seat: int = 1
) -> MatchResult:
    players = [RANDOM, ShortContextPlayer(after)] if seat else [ShortContextPlayer(after), RANDOM]
    job = MatchJob("m", load_game(game), players, 4, on_illegal=FailurePolicy.parse(policy))
    [played] = play([job], schedule=schedule)
    return played


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
@pytest.mark.parametrize("policy", ["forfeit", "retry(2)", "penalty(0.5,3)", "random"])
@pytest.mark.parametrize("game", ["tic_tac_toe", JOINT])
@pytest.mark.parametrize("seat", [0, 1])
def test_full_context_ends_the_match_under_every_policy(
    game: str, policy: str, schedule: Schedule, seat: int, tmp_path: Path
) -> None:
    played = play_until_full(game, 2, policy, schedule, seat)
    assert played.ending == Ending("out of context", seat)
    assert played.utilities == ((-1.0, 1.0) if seat == 0 else (1.0, -1.0))
    assert played.penalties == {}
    assert [turn.reading for turn in played.turns if turn.seat == seat] == ["move", "move"]  # nothing was said
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        assert writer.write(played).ending == played.ending
    assert verify_file(tmp_path / "m.jsonl").problems == []


def test_full_contexts_in_a_joint_move_are_both_recorded() -> None:
    job = MatchJob("m", load_game(JOINT), [ShortContextPlayer(1), ShortContextPlayer(1)], 0)
    [played] = play([job])
    assert {(failure.kind, failure.seat) for failure in played.ending.failures} == {
        ("out of context", 0),
        ("out of context", 1),
    }
    record = Record.from_match(played)
    assert find_first_difference(record) is None
    record.ending = Ending("out of context", 0)
    assert find_first_difference(record) == "the replies end where seat 1 is to give one"


def test_full_context_truncates_the_trajectory() -> None:
    played = play_until_full("tic_tac_toe", 1)
    assert [Trajectory.from_match(played, seat).truncated for seat in (0, 1)] == [False, True]
    assert [Trajectory.from_match(played, seat).forfeited for seat in (0, 1)] == [False, True]
    [whole] = play([MatchJob("m", load_game("tic_tac_toe"), [RANDOM, RANDOM], 0)])
    assert [Trajectory.from_match(whole, seat).truncated for seat in (0, 1)] == [False, False]


def test_scores_count_full_contexts() -> None:
    ours, theirs = Score(), Score()
    for after in (0, 1, 2, 9):
        played = play_until_full("tic_tac_toe", after)
        ours.add(played, 1)
        theirs.add(played, 0)
    assert (ours.failures["out of context"], ours.forfeits, ours.failures["timed out"]) == (3, 3, 0)
    assert theirs.failures["out of context"] == 0
    assert ours.failure_rate("out of context").value == 0.75
    assert ours.as_dict()["counts"]["failures"]["out of context"] == 3


def test_false_out_of_context_ending_is_detected() -> None:
    record = Record.from_match(play_until_full("tic_tac_toe", 1))
    assert find_first_difference(record) is None
    both = Ending("out of context", 1, others=(Ending("timed out", 0),))
    for ending, difference in [
        (Ending("no legal move", 1), "the replies end where seat 1 is to give one"),
        (both, "Seat 0 did not answer in time.' is recorded, but the replay gives 'Seat 1 had no space"),
    ]:
        record.ending = ending
        assert difference in (find_first_difference(record) or "")
    [whole] = play([MatchJob("m", load_game("tic_tac_toe"), [RANDOM, RANDOM], 0)])
    record = Record.from_match(whole)
    record.ending = Ending("out of context", 0)
    assert "but the replay gives 'The game is over.'" in (find_first_difference(record) or "")
    data = json.loads(record.line())
    data["ending"]["seat"] = -1
    with pytest.raises(BadRecord, match="ending has the wrong form"):
        Record.parse(json.dumps(data))
