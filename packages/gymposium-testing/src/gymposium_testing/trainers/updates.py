"""Explain a step's direction by its rows' rewards, or by a known fault in their use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gymposium_testing.trainers.protocol import TrainedRow, Vector

ExplanationKind = Literal["the rewards", "the other seat's rewards", "without last steps"]
MIN_SPREAD = 1e-6
"""Minimum standard deviation for scaling rewards."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A way to use rewards, with its similarity to a step."""

    kind: ExplanationKind
    cosine: float
    """Cosine between the step and the nearest direction of this kind; negative for opposite directions."""


def rank_explanations(
    rows: Sequence[TrainedRow], step: Vector, whole: Sequence[Vector], without_last: Sequence[Vector]
) -> list[Explanation]:
    """Return how well each way to use rewards explains a step, best first.

    `whole` holds the gradient of the log-probability of each row's replies, `without_last` that of all but the last
    reply. The usual baselines, scales and weights of long rows are tried, with any constant baseline per seat, and the
    nearest direction of each kind counts."""
    own = [row.reward for row in rows]
    of_seat = {(row.match, row.seat): row.reward for row in rows}
    others = [of_seat.get((row.match, 1 - row.seat), 0.0) for row in rows]
    tried: list[tuple[ExplanationKind, Sequence[float], Sequence[Vector]]] = [("the rewards", own, whole)]
    if any(others):
        tried.append(("the other seat's rewards", others, whole))
    tried.append(("without last steps", own, without_last))
    found = [
        max(
            (Explanation(kind, one) for one in _compute_cosines(step, rows, rewards, np.array(gradients))),
            key=lambda explanation: abs(explanation.cosine),
        )
        for kind, rewards, gradients in tried
    ]
    return sorted(found, key=lambda one: -abs(one.cosine))


def _compute_cosines(
    step: Vector, rows: Sequence[TrainedRow], rewards: Sequence[float], gradients: Vector
) -> Iterator[float]:
    """Yield the cosine between the step and the nearest direction, for each kind of advantages."""
    seats = np.array([[row.seat == seat for row in rows] for seat in (0, 1)], dtype=float)
    for size in (np.ones(len(rows)), np.array([1.0 / max(1, sum(row.mask)) for row in rows])):
        constants = (seats * size) @ gradients
        for advantages in _compute_advantages(rows, rewards):
            directions = np.vstack([(advantages * size) @ gradients, constants])
            factors, *_ = np.linalg.lstsq(directions.T, step, rcond=None)
            nearest = factors @ directions
            yield float(np.linalg.norm(nearest) / np.linalg.norm(step)) * float(np.sign(factors[0]))


def _compute_advantages(rows: Sequence[TrainedRow], rewards: Sequence[float]) -> Iterator[Vector]:
    """Yield raw rewards, then centered and standardized rewards over all rows, by seat, and by group."""
    yield np.array(rewards)
    parts: tuple[Callable[[TrainedRow], object], ...] = (
        lambda row: 0,
        lambda row: row.seat,
        lambda row: (row.seat, row.group),
    )
    for part in parts:
        values: defaultdict[object, list[float]] = defaultdict(list)
        for row, reward in zip(rows, rewards, strict=True):
            values[part(row)].append(reward)
        means = np.array([np.mean(values[part(row)]) for row in rows])
        spreads = np.array([max(MIN_SPREAD, float(np.std(values[part(row)]))) for row in rows])
        yield np.array(rewards) - means
        yield (np.array(rewards) - means) / spreads
