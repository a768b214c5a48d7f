"""Endings of matches, as text and in records."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given, strategies as st

from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.ending import FAILURES, OVER, Ending, find_cut_off_seats
from gymposium.match.failures import choose_forfeit
from gymposium.players.grammar import make_player
from gymposium.records import Record

[PLAYED] = play([MatchJob("m", load_game("tic_tac_toe"), [make_player("random")] * 2, 0)])
RECORD = Record.from_match(PLAYED)


@st.composite
def endings(draw: st.DrawFn) -> Ending:
    """Any ending that a match of up to six seats can have."""
    if draw(st.booleans()):
        return draw(st.just(OVER) | st.builds(Ending, st.just("broke off"), detail=st.text()))
    failures = []
    for seat in draw(st.lists(st.integers(0, 5), min_size=1, unique=True)):
        kind = draw(st.sampled_from([*FAILURES]))
        failures.append(Ending(kind, seat, draw(st.text()) if kind == "crashed" else ""))
    return choose_forfeit(failures, draw(st.integers(0, 2**48)))


@given(endings())
def test_every_ending_round_trips_through_a_record(ending: Ending) -> None:
    line = replace(RECORD, ending=ending).line()
    assert Record.parse(line).ending == ending
    assert Record.parse(line).line() == line


@given(endings())
def test_each_failure_is_kept_and_described_once(ending: Ending) -> None:
    words = ending.describe(lambda seat: f"<{seat}>")
    for failure in ending.failures:
        assert ending.find_failure(failure.seat or 0) == failure
        assert f"<{failure.seat}> {failure.predicate}" in words
    assert ("and forfeits" in words.replace(f"({ending.detail})", "")) == (ending.seat is not None)
    assert ending.detail in words


def test_descriptions_of_each_ending() -> None:
    assert OVER.describe() == "The game is over."
    assert Ending("broke off", detail="OSError: gone").describe() == "The match broke off: OSError: gone"
    assert Ending("no legal move", 1).describe() == "Seat 1 gave no legal move and forfeits."
    assert Ending("no legal move", 1).describe(cut_off={1}) == (
        "Seat 1 gave no legal move (its reply was cut off: raise max_tokens) and forfeits."
    )
    assert Ending("no legal move", 1).describe(cut_off={0}) == "Seat 1 gave no legal move and forfeits."
    assert Ending("timed out", 1).describe(cut_off={1}) == "Seat 1 did not answer in time and forfeits."
    assert find_cut_off_seats([(0, "cut off"), (1, "cut off"), (0, "move")]) == {1}
    both = Ending("crashed", 0, "KeyError: 'x'", (Ending("timed out", 1),))
    assert both.describe() == "Seat 0 crashed (KeyError: 'x') and forfeits. Seat 1 did not answer in time."


def test_forfeiting_seat_is_drawn_from_the_failed_ones() -> None:
    failures = [Ending("timed out", 0), Ending("crashed", 2, "x"), Ending("no legal move", 3)]
    drawn = [choose_forfeit(failures, seed) for seed in range(60)]
    assert {ending.seat for ending in drawn} == {0, 2, 3}
    for ending in drawn:
        assert sorted([replace(f, others=()) for f in ending.failures], key=lambda f: f.seat or 0) == failures
    assert drawn == [choose_forfeit(failures, seed) for seed in range(60)]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "won"},
        {"kind": "over"},
        {"kind": "broke off"},
        {"seat": None},
        {"seat": -1},
        {"seat": True},
        {"detail": "late"},
        {"detail": None},
        {"others": None},
        {"others": [asdict(Ending("crashed", 1))]},
        {"others": [asdict(OVER)]},
        {"others": [asdict(Ending("crashed", 0, others=(Ending("crashed", 2),)))]},
        {"note": 1},
    ],
)
def test_impossible_endings_do_not_parse(change: dict[str, object]) -> None:
    data = json.loads(json.dumps(asdict(Ending("timed out", 1))))
    assert Ending.parse(data) == Ending("timed out", 1)
    with pytest.raises(ValueError, match=r"ending|seats|failures"):
        Ending.parse(data | change)


def test_cause_is_the_last_reading_or_the_failure_kind() -> None:
    replies = [(0, "illegal"), (1, "move"), (0, "cut off"), (2, "unparsable")]
    ending = Ending("no legal move", 2, others=(Ending("no legal move", 0), Ending("timed out", 1)))
    assert list(ending.find_causes(replies).items()) == [(2, "unparsable"), (0, "cut off"), (1, "timed out")]
    assert Ending("out of context", 0).find_causes(replies) == {0: "out of context"}
    assert OVER.find_causes(replies) == {}
