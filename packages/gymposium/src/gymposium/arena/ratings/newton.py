"""The strengths that fit best to each of many sets of comparisons, all at once.

choix fits one set at a time (`luce`); the bootstrap has thousands, which differ in their counts alone, and together
they take a twentieth of the time. The negative logarithm of the likelihood is convex in the logarithms of the
strengths, so Newton's method finds its least value. Its step is shortened to log(1 + r) / r of itself, r being the
range of the step, which makes it go down from anywhere (Bach, 2010, Self-concordant analysis for logistic regression;
Sun and Tran-Dinh, 2019, Generalized self-concordant functions, for the step).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.ratings.comparisons import Floats

PRECISE = 1e-7
"""The last step may change no strength by more, in natural logarithms."""

_MOST_STEPS = 100


def fit_many(
    pairs: Floats,
    sets: NDArray[np.bool_] | None = None,
    asked: Floats | None = None,
    wins: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Shape (samples, n): natural logarithms of strengths, with mean 0.

    `pairs` has the shape (samples, n, n), and everybody in it must have scored against everybody, if through others;
    `sets`, `asked` and `wins` are as in `Comparisons`, with samples in place of deals; `start` has the shape (n)."""
    samples, n, _ = pairs.shape
    between = pairs + pairs.transpose(0, 2, 1)
    scored = pairs.sum(axis=2) + (0.0 if wins is None else wins)
    members = np.zeros((0, n)) if sets is None else sets.astype(float)
    together = (members[:, :, None] * members[:, None, :]).reshape(len(members), n * n)
    counts = np.zeros((samples, 0)) if asked is None else asked
    here = np.tile(np.zeros(n) if start is None else start - start.mean(), (samples, 1))
    todo = np.arange(samples)
    for _ in range(_MOST_STEPS):
        step = _step(here[todo], between[todo], scored[todo], members, together, counts[todo])
        reach = np.ptp(step, axis=1)
        shorter = np.where(reach > 0.0, np.log1p(reach) / np.maximum(reach, np.finfo(float).tiny), 1.0)
        here[todo] += shorter[:, None] * step
        todo = todo[reach > PRECISE]
        if not len(todo):
            return here
    raise ArithmeticError(f"No strengths were found in {_MOST_STEPS} steps: somebody has scored against nobody.")


def _step(here: Floats, between: Floats, scored: Floats, members: Floats, together: Floats, counts: Floats) -> Floats:
    """Newton's step in each sample: what solves (curvature) · step = scored − expected."""
    samples, n = here.shape
    strength = np.exp(here)
    # of two and of more alike: how often each is expected to be chosen, and how uncertain that is
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
    curvature += 1.0 / n  # strengths are known up to a factor: this keeps their mean where it is
    step = np.linalg.solve(curvature, (scored - expected)[:, :, None])[:, :, 0]
    return np.asarray(step - step.mean(axis=1, keepdims=True))
