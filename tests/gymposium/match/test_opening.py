"""Random openings, shared by all matches of a group."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game, make_player
from gymposium.errors import BadOption
from gymposium.games.protocol import CHANCE, Event
from gymposium.match import MatchJob, open_match, play
from gymposium.records import Record, find_first_difference

RANDOM = make_player("random")
GAMES = ["tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=4)", "pig"]


def record(game: str, opening: int, seed: int = 3) -> Record:
    [played] = play([MatchJob("m", load_game(game), (RANDOM, RANDOM), seed, 7, opening=opening)])
    return Record.parse(Record.from_match(played).line())


@given(st.sampled_from(GAMES), st.integers(0, 12), st.integers(0, 2**48))
@settings(max_examples=60)
def test_opening_follows_from_the_seed_and_leaves_moves(game: str, plies: int, seed: int) -> None:
    match, drawn = open_match(load_game(game), seed, plies)
    assert match.to_move()
    assert drawn <= plies
    again, _ = open_match(load_game(game), seed, drawn)
    assert again.events == match.events
    longer, most = open_match(load_game(game), seed, plies + 1)
    assert most - drawn in (0, 1)
    assert longer.events[: len(match.events)] == match.events


def test_opening_is_independent_of_the_players() -> None:
    game, players = load_game("connect_four"), (make_player("random"), make_player("greedy"))
    jobs = [MatchJob(str(n), game, seats, 5, n, opening=4) for n, seats in enumerate([players, players[::-1]])]
    one, other = play(jobs)
    assert one.events[:4] == other.events[:4]
    assert one.events != other.events
    assert [len(found.turns) + 4 for found in (one, other)] == [len(one.events), len(other.events)]


def test_opening_stops_before_it_would_end_the_match() -> None:
    found = record("kuhn_poker", 40)
    assert 0 < found.opening < 3
    assert len(found.turns) == sum(event.seat != CHANCE for event in found.events) - found.opening
    assert find_first_difference(found) is None


def test_free_text_has_no_opening() -> None:
    with pytest.raises(BadOption, match="opening=0"):
        open_match(load_game("trace"), 0, 1)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("opening", [0, 1, 3])
def test_openings_verify(game: str, opening: int) -> None:
    assert find_first_difference(record(game, opening)) is None


def test_false_opening_is_detected() -> None:
    found = record("tic_tac_toe", 3)
    assert "but seat 0 is asked" in (find_first_difference(dataclasses.replace(found, opening=2)) or "")
    assert "the opening of seed 3 has" in (find_first_difference(dataclasses.replace(found, opening=4)) or "")
    assert "it can have" in (find_first_difference(dataclasses.replace(found, opening=100)) or "")
    other = next(m for m in ("a1", "b2", "c3", "a3") if m not in {event.move for event in found.events[:3]})
    events = [Event(0, other), *found.events[1:]]
    events = [event for number, event in enumerate(events) if number < 3]
    assert "the opening of seed 3 has" in (find_first_difference(dataclasses.replace(found, events=events)) or "")
