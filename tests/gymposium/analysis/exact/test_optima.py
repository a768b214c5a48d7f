"""Exact optima against a uniformly random opponent."""

from __future__ import annotations

import pytest

from gymposium.analysis.exact import TooLarge, compute_optima_against_random
from gymposium.games.registry import load_game


@pytest.mark.slow
def test_optima_against_random_at_tic_tac_toe() -> None:
    """The fractions are those of an independent traversal: 116677/120960 wins for the best return."""
    optima = compute_optima_against_random(load_game("tic_tac_toe"))
    assert optima["most wins"].win == pytest.approx(0.9667, abs=5e-5)
    assert optima["best return"].win == pytest.approx(116677 / 120960)
    assert optima["best return"].mean_return == pytest.approx(0.9598, abs=5e-5)
    safe = optima["minimax-safe"]
    assert safe.win == pytest.approx(0.9556, abs=5e-5)
    assert safe.loss == 0.0
    for optimum in optima.values():
        assert optimum.win + optimum.draw + optimum.loss == pytest.approx(1.0)
        assert optimum.mean_return == pytest.approx(optimum.win - optimum.loss)


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel(num_cards=3)", "2048", "connect_four", "oware", "chess"])
def test_untraversable_games_are_refused(name: str) -> None:
    with pytest.raises(TooLarge):
        compute_optima_against_random(load_game(name))
