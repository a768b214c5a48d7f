"""Luck-corrected returns: the same mean for any table, and less variance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gymposium import load_game
from gymposium.analysis.exact import Policy, compute_value, tabulate_policy
from gymposium.analysis.exact.corrected import Known, LuckCorrector
from gymposium.analysis.exact.graph import OVER, build_graph
from gymposium.analysis.exact.players import CfrPlayer
from gymposium.analysis.exact.policy import get_move_probabilities
from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Event
from gymposium.match.failures import compute_forfeit_returns

from .conftest import OddsPlayer

SLOW_LEDUC = pytest.param("leduc_poker", marks=pytest.mark.slow)
GAMES = ["kuhn_poker", SLOW_LEDUC, "liars_dice(dice_sides=2)", "goofspiel(num_cards=3,points_order=random)"]


def matches(one: Policy, other: Policy) -> Iterator[tuple[float, list[Event], tuple[float, ...], int | None]]:
    """Every match of two policies: its probability, events, returns, and the seat that forfeits."""
    graph, policies = build_graph(one.game), (one, other)
    ahead: list[tuple[int, float, list[Event]]] = [(0, 1.0, [])]
    while ahead:
        i, p, events = ahead.pop()
        position = graph.positions[i]
        if position.seat == OVER:
            yield p, events, position.returns, None
            continue
        odds, failed, seat = position.odds, 0.0, position.seat
        if seat != CHANCE:
            odds, failed = get_move_probabilities(policies[seat].table[seat, position.view])
        if failed > 0.0:
            yield p * failed, events, compute_forfeit_returns(graph.game, seat, position.returns), seat
        for move, child, q in zip(position.moves, position.children, odds, strict=True):
            if q > 0.0:
                ahead.append((child, p * q, [*events, Event(seat, move)]))


def spread(one: Policy, other: Policy, known: Known, corrector: LuckCorrector | None) -> tuple[float, float]:
    """The mean and the variance of the first seat's return, plain or corrected."""
    found = []
    for p, events, returns, forfeits in matches(one, other):
        if corrector is not None:
            returns = corrector.correct_returns(events, returns, known, forfeits)
            assert sum(returns) == pytest.approx(0.0, abs=1e-9)
        found.append((p, returns[0]))
    mean = math.fsum(p * x for p, x in found)
    return mean, math.fsum(p * (x - mean) ** 2 for p, x in found)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("table", ["cfr", "odd"])
def test_correction_keeps_the_mean(name: str, table: str) -> None:
    game = load_game(name)
    one, other = tabulate_policy(game, OddsPlayer(1)), tabulate_policy(game, OddsPlayer(2))
    corrector = LuckCorrector(tabulate_policy(game, CfrPlayer(50) if table == "cfr" else OddsPlayer(3)))
    truth, _ = spread(one, other, (None, None), None)
    assert truth == pytest.approx(compute_value(one, other).seats[0].mean_return)
    for known in ((None, None), (one, None), (None, other), (one, other)):
        mean, variance = spread(one, other, known, corrector)
        assert mean == pytest.approx(truth, abs=1e-9)
    assert variance == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "most"), [("kuhn_poker", 0.6), pytest.param("leduc_poker", 0.4, marks=pytest.mark.slow)]
)
def test_correction_reduces_variance_against_the_table(name: str, most: float) -> None:
    game = load_game(name)
    one, table = tabulate_policy(game, OddsPlayer(1)), tabulate_policy(game, CfrPlayer(300))
    (_, plain), (_, without_chance), (_, less) = (
        spread(one, table, known, corrector)
        for known, corrector in (
            ((None, None), None),
            ((None, None), LuckCorrector(table)),
            ((None, table), LuckCorrector(table)),
        )
    )
    assert less < without_chance < plain
    assert less < most * plain


def test_corrects_matches_with_illegal_replies() -> None:
    game = load_game("kuhn_poker")
    one, other = tabulate_policy(game, OddsPlayer(1, legal_mass=0.8)), tabulate_policy(game, OddsPlayer(2))
    corrector = LuckCorrector(tabulate_policy(game, CfrPlayer(50)))
    truth, plain = spread(one, other, (None, None), None)
    mean, variance = spread(one, other, (None, other), corrector)
    assert mean == pytest.approx(truth, abs=1e-9)
    assert variance < plain


@pytest.mark.parametrize("name", ["kuhn_poker", SLOW_LEDUC])
@pytest.mark.parametrize("seat", [0, 1])
def test_self_play_of_the_table_has_no_variance(name: str, seat: int) -> None:
    """If the unknown player plays moves of equal worth, nothing is left to correct."""
    game = load_game(name)
    table = tabulate_policy(game, CfrPlayer(300))
    corrector = LuckCorrector(table)
    known: Known = (None, table) if seat == 0 else (table, None)
    _, plain = spread(table, table, known, None)
    _, variance = spread(table, table, known, corrector)
    assert variance < plain / 100


def test_rejects_events_of_another_game() -> None:
    game = load_game("kuhn_poker")
    corrector = LuckCorrector(tabulate_policy(game, CfrPlayer(5)))
    with pytest.raises(BadRecord, match="is not possible in kuhn_poker"):
        corrector.correct_returns([Event(0, "bet")], (0.0, 0.0), (None, None))
    table = {
        state: replace(odds, probabilities=(1.0, 0.0))
        for state, odds in tabulate_policy(game, OddsPlayer(1)).table.items()
    }
    passes = Policy(game, "passes", table)
    bets = [*(Event(CHANCE, f"Deal:{card}") for card in (0, 1)), Event(0, "pass"), Event(1, "bet"), Event(0, "pass")]
    with pytest.raises(BadRecord, match="passes cannot have led seat 0 to '0pb'"):
        corrector.correct_returns(bets, (-1.0, 1.0), (None, passes))
