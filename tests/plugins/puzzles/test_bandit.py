"""Bandits: payoffs follow the hidden probabilities, and the solver is close to the best policy."""

from __future__ import annotations

from functools import cache

import pytest

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium_puzzles.planning.bandit import CHANCES, Bandit, Pulls

Counts = tuple[tuple[int, int], ...]
"""Wins and losses of each arm."""


def compute_mean(wins: int, losses: int) -> float:
    """Return the posterior mean of an arm, by Bayes' rule."""
    weights = [chance**wins * (1 - chance) ** losses for chance in CHANCES]
    return sum(weight * chance for weight, chance in zip(weights, CHANCES, strict=True)) / sum(weights)


def value_policy(pulls: int, *, is_best: bool) -> float:
    """Return the mean sum of the best policy, or of the solver, with two drawn arms."""
    rules = Bandit("drawn", 2, pulls)

    def pull(counts: Counts, arm: int, paid: int) -> Counts:
        wins, losses = counts[arm]
        after = (wins + paid, losses + 1 - paid)
        return tuple(after if one == arm else old for one, old in enumerate(counts))

    @cache
    def value(counts: Counts) -> float:
        done = sum(map(sum, counts))
        if done == pulls:
            return 0.0
        made = tuple(
            (arm, float(paid)) for arm, few in enumerate(counts) for paid in (1, 0) for _ in range(few[1 - paid])
        )
        arms = range(2) if is_best else [rules.moves.index(rules.solve(Pulls((0.5, 0.5), made, None)))]
        return max(
            sum(
                chance * (paid + value(pull(counts, arm, paid)))
                for paid, chance in ((1, compute_mean(*counts[arm])), (0, 1 - compute_mean(*counts[arm])))
            )
            for arm in arms
        )

    return value(((0, 0), (0, 0)))


def test_solver_is_close_to_the_best_policy() -> None:
    assert value_policy(10, is_best=False) >= 0.99 * value_policy(10, is_best=True)
    assert value_policy(2, is_best=True) > 1.0  # more than two blind pulls


def test_sure_arm_is_known_after_one_pull() -> None:
    rules = Bandit("sure", 2, 3)
    assert rules.solve(Pulls((1.0, 0.25), ((0, 0.1),), None)) == "pull b"
    assert rules.solve(Pulls((0.25, 1.0), ((0, 0.0),), None)) == "pull a"
    assert rules.returns(Pulls((1.0, 0.25), ((0, 0.1), (1, 1.0)), None)) == (1.1,)


def test_sure_kind_has_two_arms() -> None:
    with pytest.raises(BadParameter, match="kind=sure has 2 arms"):
        load_game("bandit", kind="sure", arms=3)
