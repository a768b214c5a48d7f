"""Responses found by search, compared with exact best responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gymposium.analysis.exact import complete_policy, compute_value, find_best_response, tabulate_policy
from gymposium.analysis.exact.policy import Policy
from gymposium.analysis.exact.searched import search_response
from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.random import RandomPlayer

Factory = Callable[..., Any]


class SilentPlayer(RandomPlayer):
    """Random play that does not tell its probabilities."""

    distributions = None  # type: ignore[assignment]


def compute_returns(name: str, player: Any, simulations: int, asked: Any = None) -> tuple[float, float]:
    """The mean return of a searched response to a player, and that of a best response."""
    game = load_game(name)
    policy = complete_policy(tabulate_policy(game, player), player)
    even = complete_policy(tabulate_policy(game, RandomPlayer()), RandomPlayer())
    table = dict(even.table)  # where the search did not come it plays at random
    for seat in (0, 1):
        for view, move in search_response(game, asked or player, seat, simulations).items():
            moves = even.table[seat, view].moves
            table[seat, view] = MoveDistribution(moves, tuple(float(one == move) for one in moves), 1.0, None)
    found = compute_value(Policy(game, "searched", table), policy).mean.mean_return
    return found, find_best_response(policy).exploitability


@pytest.mark.parametrize(
    ("name", "simulations", "share"),
    [
        ("kuhn_poker", 2000, 0.99),
        pytest.param("leduc_poker", 20_000, 0.85, marks=pytest.mark.slow),
        ("goofspiel(num_cards=3)", 4000, 0.99),
        ("dark_hex(num_rows=2,num_cols=2)", 4000, 0.99),
        pytest.param("tic_tac_toe", 20_000, 0.9, marks=pytest.mark.slow),
    ],
)
def test_searched_response_nearly_matches_the_best_response(name: str, simulations: int, share: float) -> None:
    found, best = compute_returns(name, RandomPlayer(), simulations)
    assert share * best <= found <= best + 1e-9


def test_searched_response_exploits_forfeits(make_odds_player: Factory) -> None:
    found, best = compute_returns("kuhn_poker", make_odds_player(2, 0.8), 4000)
    assert 0.95 * best <= found <= best + 1e-9


def test_player_without_probabilities_is_asked_each_time() -> None:
    found, best = compute_returns("kuhn_poker", RandomPlayer(), 2000, SilentPlayer())
    assert 0.99 * best <= found


def test_search_is_deterministic_per_seed() -> None:
    game, player = load_game("phantom_ttt"), RandomPlayer()
    first, second = (search_response(game, player, 1, 300, seed=4) for _ in range(2))
    assert first == second
    assert first != search_response(game, player, 1, 300, seed=5)


def test_refuses_unsupported_games() -> None:
    with pytest.raises(GymposiumError, match="two seats and lists of legal moves"):
        search_response(load_game("hearts"), make_player("random"), 0, 10)
