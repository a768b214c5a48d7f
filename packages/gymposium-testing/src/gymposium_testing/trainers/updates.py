"""What explains the direction of a step: the rewards of its rows, or a known fault in how they are used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gymposium_testing.trainers.protocol import TrainedRow, Vector

Explained = Literal["the rewards", "the other seat's rewards", "without last steps"]
LEAST_SPREAD = 1e-6
"""Least standard deviation that rewards are divided by."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A way to use rewards, compared with a step."""

    kind: Explained
    cosine: float
    """Cosine between the step and the nearest direction of this kind; below 0 if the step goes the opposite way."""


def explained(
    rows: Sequence[TrainedRow], step: Vector, whole: Sequence[Vector], without_last: Sequence[Vector]
) -> list[Explanation]:
    """Return how well each way explains a step on rows, best first. `whole` holds the gradient of the
    log-probability of each row's replies, `without_last` that of all but the last reply.

    Trainers subtract different baselines from rewards, divide by different spreads, and weight long rows differently.
    All of these are tried, in addition to any constant baseline per seat; the nearest of each kind counts."""
    own = [row.reward for row in rows]
    of_seat = {(row.match, row.seat): row.reward for row in rows}
    others = [of_seat.get((row.match, 1 - row.seat), 0.0) for row in rows]
    tried: list[tuple[Explained, Sequence[float], Sequence[Vector]]] = [("the rewards", own, whole)]
    if any(others):
        tried.append(("the other seat's rewards", others, whole))
    tried.append(("without last steps", own, without_last))
    found = [
        max(
            (Explanation(kind, one) for one in _cosines(step, rows, rewards, np.array(gradients))),
            key=lambda explanation: abs(explanation.cosine),
        )
        for kind, rewards, gradients in tried
    ]
    return sorted(found, key=lambda one: -abs(one.cosine))


def _cosines(step: Vector, rows: Sequence[TrainedRow], rewards: Sequence[float], gradients: Vector) -> Iterator[float]:
    """Yield the cosine between the step and the nearest direction, for each way to make advantages from rewards."""
    seats = np.array([[row.seat == seat for row in rows] for seat in (0, 1)], dtype=float)
    for size in (np.ones(len(rows)), np.array([1.0 / max(1, sum(row.mask)) for row in rows])):
        constants = (seats * size) @ gradients
        for advantages in _advantages(rows, rewards):
            directions = np.vstack([(advantages * size) @ gradients, constants])
            factors, *_ = np.linalg.lstsq(directions.T, step, rcond=None)
            nearest = factors @ directions
            yield float(np.linalg.norm(nearest) / np.linalg.norm(step)) * float(np.sign(factors[0]))


def _advantages(rows: Sequence[TrainedRow], rewards: Sequence[float]) -> Iterator[Vector]:
    """Yield raw rewards, and rewards minus their mean, also in units of their spread: over all, a seat, and a group."""
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
        spreads = np.array([max(LEAST_SPREAD, float(np.std(values[part(row)]))) for row in rows])
        yield np.array(rewards) - means
        yield (np.array(rewards) - means) / spreads
