"""Weights of completed matches correct for failed replies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gymposium_arena.ratings.completed import Decisions, compute_effective_number, weight_completed_matches

Chance = Callable[[int, int], float]
"""The probability of failing in a turn of a match of one kind."""


def simulate_matches(chance_of: Chance, matches: int = 4000, seed: int = 1) -> tuple[Decisions, np.ndarray, np.ndarray]:
    """Matches of three decisions of one player. Each has a hidden kind, 0 or 1, which is one of the features; returns
    the decisions, the kinds of the matches, and whether they were completed."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, matches)
    match, failed, features = [], [], []
    ended = np.zeros(matches, dtype=bool)
    for turn in range(3):
        for one in range(matches):
            if not ended[one]:
                fails = rng.random() < chance_of(turn, kinds[one])
                ended[one] |= fails
                match.append(one)
                failed.append(fails)
                features.append((float(turn), float(kinds[one])))
    rows = np.array(match)
    decisions = Decisions(rows, rows // 2, np.zeros(len(rows), dtype=int), np.array(features), np.array(failed))
    return decisions, kinds, ~ended


def test_weights_are_one_without_failures() -> None:
    decisions, kinds, _ = simulate_matches(lambda turn, kind: 0.0, matches=50)
    found = weight_completed_matches(decisions, len(kinds), 1)
    assert found.weights.tolist() == [1.0] * 50
    assert found.max_failure.tolist() == [0.0]


@pytest.mark.parametrize(
    "chance",
    [
        lambda turn, kind: 0.2,
        lambda turn, kind: 0.05 + 0.1 * turn,
        lambda turn, kind: 0.3 * kind,
        lambda turn, kind: 0.02 + 0.1 * turn * kind,
    ],
)
def test_weights_correct_for_failures(chance: Chance) -> None:
    decisions, kinds, done = simulate_matches(chance)
    found = weight_completed_matches(decisions, len(kinds), 1)
    assert (found.weights > 0).tolist() == done.tolist()
    assert found.weights.sum() == pytest.approx(len(kinds), rel=0.06)
    share = float(found.weights @ kinds) / found.weights.sum()
    assert share == pytest.approx(kinds.mean(), abs=0.03)
    assert compute_effective_number(found.weights) < done.sum() + 1e-9


def test_unweighted_matches_are_biased() -> None:
    """The test above can fail: matches of kind 1 are rare among the completed ones."""
    _, kinds, done = simulate_matches(lambda turn, kind: 0.3 * kind)
    assert kinds[done].mean() < kinds.mean() - 0.1


def test_rarely_replying_players_are_detected() -> None:
    decisions, kinds, _ = simulate_matches(lambda turn, kind: 0.97 if turn == 2 else 0.0, matches=1000)
    assert weight_completed_matches(decisions, len(kinds), 1).max_failure[0] > 0.9


def test_only_failing_players_are_regressed() -> None:
    decisions, kinds, _ = simulate_matches(lambda turn, kind: 0.2, matches=100)
    player = decisions.match % 2
    failed = decisions.failed & (player == 1)
    two = Decisions(decisions.match, decisions.deal, player, decisions.features, failed)
    assert weight_completed_matches(two, len(kinds), 2).max_failure[0] == 0.0


@pytest.mark.parametrize(("weights", "found"), [([1, 1, 1, 1], 4.0), ([4, 0, 0, 0], 1.0), ([], 0.0), ([3, 1], 1.6)])
def test_effective_number_matches_hand_computation(weights: list[float], found: float) -> None:
    assert compute_effective_number(weights) == pytest.approx(found)
