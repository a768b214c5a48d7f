"""Weights for the matches that were played to their end, as if no reply had ever failed.

A board's results mix playing badly with failing to reply. The rating of *play* is that of the players' policies
restricted to legal moves, from completed matches alone. But the fewer replies could fail in a match, the likelier it is
completed. So each completed match counts 1/∏(1 − f), over the failure probabilities f of all decisions of all players
(inverse probability weighting: Horvitz and Thompson, 1952, A Generalization of Sampling Without Replacement from a
Finite Universe). This assumes that, given the observation, failing does not depend on the intended move.

f is a logistic regression for each player on the turn, the observation's length, the number of legal moves, the
seat, and, where matches were reviewed, the position's value. For each deal it is fitted to the other deals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats

FOLDS = 5
RIDGE = 1.0
"""L2 penalty on the coefficients, for features of mean 0 and variance 1; the intercept is free."""
STEPS = 30
MOST_FAILING = 0.9
"""Greatest failure probability with meaningful weights."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions in one game's matches, one row each."""

    match: NDArray[np.int_]
    """The index of the match, shape (rows)."""
    deal: NDArray[np.int_]
    """The index of its deal, shape (rows)."""
    player: NDArray[np.int_]
    """The index of the player, shape (rows)."""
    features: Floats
    """Shape (rows, features)."""
    failed: NDArray[np.bool_]
    """Whether the reply failed, shape (rows)."""


@dataclass(frozen=True, slots=True)
class MatchWeights:
    """The weights of a game's matches."""

    weights: Floats
    """Shape (matches); 0 for a match that a failed reply ended."""
    failing: Floats
    """The greatest failure probability of each player in any of its decisions, shape (players)."""


def completed(decisions: Decisions, matches: int, players: int) -> MatchWeights:
    """Return the weights of `matches` matches between `players` players."""
    chances = np.zeros(len(decisions.match))
    failing = np.zeros(players)
    for player in range(players):
        own = decisions.player == player
        if not decisions.failed[own].any():
            continue
        chances[own] = _cross_fitted(decisions.features[own], decisions.failed[own], decisions.deal[own])
        failing[player] = chances[own].max()
    kept = np.clip(1.0 - chances, 1.0 - MOST_FAILING, 1.0)
    weights = np.exp(-np.bincount(decisions.match, np.log(kept), minlength=matches))
    weights[np.bincount(decisions.match, decisions.failed, minlength=matches) > 0] = 0.0
    return MatchWeights(weights, failing)


def effective(weights: Sequence[float] | Floats) -> float:
    """Return the effective number of matches with these weights (Kish, 1965, Survey Sampling): as many matches of equal
    weight carry the same information."""
    values = np.asarray(weights)
    squares = float(values @ values)
    return 0.0 if squares == 0.0 else float(values.sum()) ** 2 / squares


def _cross_fitted(features: Floats, failed: NDArray[np.bool_], deals: NDArray[np.int_]) -> Floats:
    """Return the failure probability in each row, by a regression on the rows of other deals."""
    design = _design(features)
    chances = np.empty(len(failed))
    for fold in range(FOLDS):
        held_out = deals % FOLDS == fold
        others = ~held_out
        if held_out.any():
            chances[held_out] = _predicted(design[others], failed[others], design[held_out])
    return chances


def _design(features: Floats) -> Floats:
    """Return the features and their squares, each of mean 0 and variance 1, and a column of ones."""
    wide = np.concatenate([features, (features - features.mean(axis=0)) ** 2], axis=1)
    spread = wide.std(axis=0)
    wide = (wide - wide.mean(axis=0))[:, spread > 1e-9] / spread[spread > 1e-9]
    return np.concatenate([np.ones((len(features), 1)), wide], axis=1)


def _predicted(design: Floats, failed: NDArray[np.bool_], wanted: Floats) -> Floats:
    """Return the probabilities in the rows `wanted`, by a ridge regression fitted with Newton's method."""
    rows, columns = design.shape
    rate = (failed.sum() + 0.5) / (rows + 1.0)
    found = np.zeros(columns)
    found[0] = np.log(rate / (1.0 - rate))
    penalty = np.full(columns, RIDGE)
    penalty[0] = 0.0
    for _ in range(STEPS):
        chances = _sigmoid(design @ found)
        gradient = design.T @ (failed - chances) - penalty * found
        curvature = (design * (chances * (1.0 - chances))[:, None]).T @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        found += step * min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-8:
            break
    return _sigmoid(wanted @ found)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -30.0, 30.0))))
