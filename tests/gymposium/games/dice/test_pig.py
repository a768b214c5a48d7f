"""Pig against an independent model written from the rules text alone, and against the engine."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event

from ..boards import check_engine, check_forks, check_leaks_of_example, check_ranges, check_refused, examples

CORNERS = (
    "pig(winscore=1,diceoutcomes=2,horizon=1)",
    "pig(winscore=1000,diceoutcomes=100,horizon=10000)",
    "pig(winscore=1,diceoutcomes=100,horizon=10000)",
)
NUMBERS = re.compile(
    r"Scores: you (\d+), your opponent (\d+)\. It is your (turn|opponent's turn); the turn total is (\d+)\. "
    r"This is decision (\d+) of at most (\d+)\.\n"
)


@given(st.integers(1, 60), st.integers(2, 12), st.integers(1, 80), st.integers(0, 9999), st.sampled_from((0.3, 0.7, 1)))
@settings(max_examples=60)
def test_play_agrees_with_the_rules_model(winscore: int, sides: int, horizon: int, seed: int, daring: float) -> None:
    match = load_game("pig", winscore=winscore, diceoutcomes=sides, horizon=horizon).new(seed)
    rules = match.game.rules(0)
    assert f"one die of {sides} sides" in rules
    assert f"the first to have {winscore} points wins" in rules
    assert f"after {horizon} decisions" in rules
    rng, scores, total, seat, decisions = random.Random(seed), [0, 0], 0, 0, 0
    while max(scores) < winscore and decisions < horizon:
        assert match.to_move() == (seat,)
        must_stop = scores[seat] + total >= winscore
        assert match.legal_moves(seat) == (["stop"] if must_stop else ["roll", "stop"])
        for who in (0, 1):
            found = NUMBERS.fullmatch(match.observe(who).text)
            assert found is not None
            whose = "turn" if who == seat else "opponent's turn"
            expected = (scores[who], scores[1 - who], whose, total, decisions + 1, horizon)
            assert found.groups() == tuple(map(str, expected))
            legal = " ".join(match.legal_moves(who) or []) or "none"
            assert match.observe(who, "compact").text == (
                f"scores {scores[who]} {scores[1 - who]}\nturn total {total}\ndecision {decisions + 1}\nlegal {legal}\n"
            )
        move = "stop" if must_stop or rng.random() > daring else "roll"
        before = len(match.events)
        match.apply({seat: move})
        decisions += 1
        if move == "stop":
            scores[seat] += total
            total, seat = 0, 1 - seat
        elif decisions < horizon:  # the last roll decides nothing, and its die is not cast
            [die] = [int(event.move.removeprefix("Roll ")) for event in match.events[before + 1 :]]
            assert 1 <= die <= sides
            total = total + die if die > 1 else 0
            seat = seat if die > 1 else 1 - seat
    assert match.to_move() == ()
    for who in (0, 1):
        won = (scores[who] >= winscore) - (scores[1 - who] >= winscore)
        assert match.returns()[who] == won
        told = f"Scores: you {scores[who]}, your opponent {scores[1 - who]}."
        assert match.observe(who).text == f"{told} The game is over after {decisions} decisions.\n"
        assert match.observe(who, "compact").text.endswith(f"over after {decisions}\nlegal none\n")


def test_view_includes_the_remaining_decisions() -> None:
    first = load_game("pig").load([Event(0, "stop"), Event(1, "stop")])
    second = load_game("pig").load(
        [Event(0, "roll"), Event(CHANCE, "Roll 1"), Event(1, "roll"), Event(CHANCE, "Roll 1")]
    )
    assert first.view(0) == second.view(0)
    later = load_game("pig").load([Event(i % 2, "stop") for i in range(4)])
    assert isinstance(first, OpenSpielMatch)
    assert isinstance(later, OpenSpielMatch)
    assert first.state.observation_string(0) == later.state.observation_string(0)
    assert first.view(0) != later.view(0)


def test_tensor_has_the_seats_own_score_first() -> None:
    events = [Event(0, "roll"), Event(CHANCE, "Roll 5"), Event(0, "stop"), Event(1, "roll"), Event(CHANCE, "Roll 3")]
    match = load_game("pig(winscore=20)").load(events)
    for seat, expected in enumerate(([3, 5, 0], [3, 0, 5])):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (3, 21)
        assert tensor.sum() == 3
        assert list(tensor.argmax(axis=1)) == expected


@pytest.mark.parametrize("game", examples("pig", *CORNERS), ids=lambda game: game.name)
def test_moves_positions_and_returns_match_the_engine(game: OpenSpielGame) -> None:
    check_engine(game)


def test_parameter_ranges_are_enforced() -> None:
    check_ranges("pig", {"winscore": (1, 1000), "diceoutcomes": (2, 100), "horizon": (1, 10000)})


def test_each_style_shows_exactly_what_the_seat_knows() -> None:
    check_leaks_of_example("pig")


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_refused("pig", [], ["Roll", "hold", "roll 6"])


def test_forks_continue_independently() -> None:
    check_forks("pig")
