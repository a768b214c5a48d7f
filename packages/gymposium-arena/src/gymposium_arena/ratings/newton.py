"""Fit maximum-likelihood strengths to a batch of comparison counts, by Newton's method.

The model is Bradley–Terry for comparisons of two players, Plackett–Luce for choices from larger sets. One batch holds
all bootstrap samples, which differ only in their counts. The negative log-likelihood is convex in the log-strengths.
Each Newton step is damped by log(1 + r) / r, where r is its range. This guarantees descent from any start (Bach, 2010,
Self-concordant analysis for logistic regression; Sun and Tran-Dinh, 2019, Generalized self-concordant functions, for
the step).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats

TOLERANCE = 1e-7
"""Maximum change of a log-strength in the last step."""

_MAX_STEPS = 100


def fit_many(
    pairs: Floats,
    sets: NDArray[np.bool_] | None = None,
    asked: Floats | None = None,
    wins: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Return log-strengths of n players in each sample, shape (samples, n), with mean 0.

    `pairs` has the shape (samples, n, n). Its directed graph of scores must be strongly connected in every sample.
    `sets`, `asked` and `wins` are as in `Comparisons`, with samples in place of deals; `start` has the shape (n).

    Raises `ArithmeticError` if Newton's method does not converge, as when the graph is not connected."""
    samples, n, _ = pairs.shape
    between = pairs + pairs.transpose(0, 2, 1)
    scored = pairs.sum(axis=2) + (0.0 if wins is None else wins)
    members = np.zeros((0, n)) if sets is None else sets.astype(float)
    together = (members[:, :, None] * members[:, None, :]).reshape(len(members), n * n)
    counts = np.zeros((samples, 0)) if asked is None else asked
    here = np.tile(np.zeros(n) if start is None else start - start.mean(), (samples, 1))
    todo = np.arange(samples)
    for _ in range(_MAX_STEPS):
        step = _compute_step(here[todo], between[todo], scored[todo], members, together, counts[todo])
        reach = np.ptp(step, axis=1)
        shorter = np.where(reach > 0.0, np.log1p(reach) / np.maximum(reach, np.finfo(float).tiny), 1.0)
        here[todo] += shorter[:, None] * step
        todo = todo[reach > TOLERANCE]
        if not len(todo):
            return here
    raise ArithmeticError(
        f"The fit did not converge in {_MAX_STEPS} steps: the graph of scores is not strongly connected."
    )


def _compute_step(
    here: Floats, between: Floats, scored: Floats, members: Floats, together: Floats, counts: Floats
) -> Floats:
    """Return each sample's Newton step, which solves curvature · step = scored − expected."""
    samples, n = here.shape
    strength = np.exp(here)
    # the expected number of choices of each player and its derivatives, for pairs and for larger sets
    shared = between / (strength[:, :, None] + strength[:, None, :])
    expected = strength * shared.sum(axis=2)
    doubled = shared / (strength[:, :, None] + strength[:, None, :])
    crossed = doubled.copy()
    own = np.einsum("bij->bi", doubled)
    if len(members):
        sums = strength @ members.T
        expected += strength * ((counts / sums) @ members)
        more = ((counts / sums**2) @ together).reshape(samples, n, n)
        own += np.einsum("bii->bi", more)
        crossed += more
    curvature = -strength[:, :, None] * strength[:, None, :] * crossed
    diagonal = np.arange(n)
    curvature[:, diagonal, diagonal] = expected - strength**2 * own
    curvature += 1.0 / n  # strengths are determined up to a factor: fix their mean
    step = np.linalg.solve(curvature, (scored - expected)[:, :, None])[:, :, 0]
    return np.asarray(step - step.mean(axis=1, keepdims=True))
