"""Weights of the matches that were played to their end, as if no reply had ever failed.

A board mixes playing badly with failing to reply. The rating of the *play* is that of the players' policies restricted
to legal moves, from completed matches alone. But a match is completed the more likely the fewer of its replies could
fail, so each completed match counts 1/∏(1 − f): f is the probability that a decision in it fails, for every decision of
every player (inverse probability weighting: Horvitz and Thompson, 1952, A Generalization of Sampling Without
Replacement from a Finite Universe). This is right if, given what the player saw, whether a reply fails does not depend
on the move that it would have been.

f is a logistic regression for each player, on the turn, the length of what the player read, the number of legal moves,
the seat, and, where matches were reviewed, the worth of the position. For each deal it is fitted to the other deals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats

FOLDS = 5
RIDGE = 1.0
"""Weight of the squares of the coefficients, for features of mean 0 and variance 1; the intercept is free."""
STEPS = 30
MOST_FAILING = 0.9
"""Greatest probability of failing for which weights mean something."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of the matches of one game, one row each."""

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
class Completed:
    """The weights of the matches of a game."""

    weights: Floats
    """Shape (matches); 0 for a match that a failed reply ended."""
    failing: Floats
    """The greatest probability of failing of each player in any of its decisions, shape (players)."""


def completed(decisions: Decisions, matches: int, players: int) -> Completed:
    """The weights of `matches` matches between `players` players."""
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
    return Completed(weights, failing)


def effective(weights: Sequence[float] | Floats) -> float:
    """The effective number of matches with these weights (Kish, 1965, Survey Sampling): as many matches of equal weight
    tell as much."""
    values = np.asarray(weights)
    squares = float(values @ values)
    return 0.0 if squares == 0.0 else float(values.sum()) ** 2 / squares


def _cross_fitted(features: Floats, failed: NDArray[np.bool_], deals: NDArray[np.int_]) -> Floats:
    """The probability of failing in each row, by a regression on the rows of other deals."""
    design = _design(features)
    chances = np.empty(len(failed))
    for fold in range(FOLDS):
        held_out = deals % FOLDS == fold
        others = ~held_out
        if held_out.any():
            chances[held_out] = _predicted(design[others], failed[others], design[held_out])
    return chances


def _design(features: Floats) -> Floats:
    """The features and their squares, each of mean 0 and variance 1, and a column of ones."""
    wide = np.concatenate([features, (features - features.mean(axis=0)) ** 2], axis=1)
    spread = wide.std(axis=0)
    wide = (wide - wide.mean(axis=0))[:, spread > 1e-9] / spread[spread > 1e-9]
    return np.concatenate([np.ones((len(features), 1)), wide], axis=1)


def _predicted(design: Floats, failed: NDArray[np.bool_], wanted: Floats) -> Floats:
    """The probabilities in the rows `wanted`, by a ridge regression fitted with Newton's method."""
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
