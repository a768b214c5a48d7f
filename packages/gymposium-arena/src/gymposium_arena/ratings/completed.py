"""Weight completed matches as if no reply had ever failed.

A board's results mix playing badly with failing to reply. The rating of *play* covers the players' policies restricted
to legal moves, from completed matches alone. Since matches with fewer chances to fail are completed more often, each
counts 1/∏(1 − f), over the failure probabilities f of all decisions (inverse probability weighting: Horvitz and
Thompson, 1952, A Generalization of Sampling Without Replacement from a Finite Universe). This assumes that, given the
observation, failing does not depend on the intended move.

For each player, f is a logistic regression on the turn, the observation's length, the number of legal moves and the
seat. Where matches were reviewed, the position's value is a feature, too. For each deal, f is fitted to the other
deals.
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
MAX_FAILURE_PROBABILITY = 0.9
"""Highest failure probability with meaningful weights."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions in one game's matches, one per row."""

    match: NDArray[np.int_]
    """Match index, shape (rows)."""
    deal: NDArray[np.int_]
    """Deal index, shape (rows)."""
    player: NDArray[np.int_]
    """Player index, shape (rows)."""
    features: Floats
    """Features of each decision, shape (rows, features)."""
    failed: NDArray[np.bool_]
    """Whether the reply failed, shape (rows)."""


@dataclass(frozen=True, slots=True)
class MatchWeights:
    """The match weights in one game."""

    weights: Floats
    """Weight of each match, shape (matches); 0 for a match with a failed reply."""
    max_failure: Floats
    """Each player's highest failure probability over its decisions, shape (players)."""


def weight_completed_matches(decisions: Decisions, matches: int, players: int) -> MatchWeights:
    """Return the weights of matches from their decisions, given the numbers of matches and players."""
    chances = np.zeros(len(decisions.match))
    max_failure = np.zeros(players)
    for player in range(players):
        own = decisions.player == player
        if not decisions.failed[own].any():
            continue
        chances[own] = _cross_fit(decisions.features[own], decisions.failed[own], decisions.deal[own])
        max_failure[player] = chances[own].max()
    kept = np.clip(1.0 - chances, 1.0 - MAX_FAILURE_PROBABILITY, 1.0)
    weights = np.exp(-np.bincount(decisions.match, np.log(kept), minlength=matches))
    weights[np.bincount(decisions.match, decisions.failed, minlength=matches) > 0] = 0.0
    return MatchWeights(weights, max_failure)


def compute_effective_number(weights: Sequence[float] | Floats) -> float:
    """Return the effective sample size of weighted matches (Kish, 1965, Survey Sampling)."""
    values = np.asarray(weights)
    squares = float(values @ values)
    return 0.0 if squares == 0.0 else float(values.sum()) ** 2 / squares


def _cross_fit(features: Floats, failed: NDArray[np.bool_], deals: NDArray[np.int_]) -> Floats:
    """Return the failure probability in each row, by regression on the rows of other deals."""
    design = _make_design(features)
    chances = np.empty(len(failed))
    for fold in range(FOLDS):
        held_out = deals % FOLDS == fold
        others = ~held_out
        if held_out.any():
            chances[held_out] = _predict(design[others], failed[others], design[held_out])
    return chances


def _make_design(features: Floats) -> Floats:
    """Return a column of ones, and the features and their squares, scaled to mean 0 and variance 1."""
    wide = np.concatenate([features, (features - features.mean(axis=0)) ** 2], axis=1)
    spread = wide.std(axis=0)
    wide = (wide - wide.mean(axis=0))[:, spread > 1e-9] / spread[spread > 1e-9]
    return np.concatenate([np.ones((len(features), 1)), wide], axis=1)


def _predict(design: Floats, failed: NDArray[np.bool_], wanted: Floats) -> Floats:
    """Return the probabilities in the rows of `wanted`, by ridge-penalized logistic regression with Newton's method."""
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
