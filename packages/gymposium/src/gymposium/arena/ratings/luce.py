"""The strengths that fit best to comparisons and choices: Bradley and Terry's model of pairs, Plackett and Luce's of
more, by choix.

choix solves by iterative Luce spectral ranking (Maystre and Grossglauser, 2015, Fast and Accurate Inference of
Plackett–Luce Models), whose fixed point is the greatest likelihood.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.ratings.comparisons import Floats

PRECISE = 1e-9
"""The last step of all strengths together, in natural logarithms."""

_MOST_STEPS = 10_000


def bradley_terry(pairs: Floats, start: Floats | None = None) -> Floats:
    """Natural logarithms of strengths, with mean 0. `pairs` has the shape (n, n): how often the row's player was chosen
    from the two."""
    from choix import ilsr_pairwise_dense

    if len(pairs) < 2:
        return np.zeros(len(pairs))
    return ilsr_pairwise_dense(pairs, initial_params=start, max_iter=_MOST_STEPS, tol=PRECISE)


def plackett_luce(pairs: Floats, sets: NDArray[np.bool_], chosen: Floats) -> Floats:
    """The same, where somebody was chosen from larger `sets` as well: `chosen`, of the same shape (sets, n), says how
    often each was.

    choix has no counts for choices from more than two. To its spectral ranking, with strengths p, a choice of i from S
    is a flow of 1/Σp(S) from each other j in S to i, where a comparison of i and j is one of 1/(p(i) + p(j)): so it is
    handed in as (p(i) + p(j))/Σp(S) of a comparison, anew at each step."""
    from choix import lsr_pairwise_dense

    members = sets.astype(float)
    here = bradley_terry(pairs + _as_pairs(np.zeros(len(pairs)), members, chosen))
    for _ in range(_MOST_STEPS):
        then = lsr_pairwise_dense(pairs + _as_pairs(here, members, chosen), initial_params=here)
        if np.abs(then - here).sum() <= PRECISE:
            return then
        here = then
    raise ArithmeticError(f"No strengths were found in {_MOST_STEPS} steps: somebody has scored against nobody.")


def _as_pairs(here: Floats, members: Floats, chosen: Floats) -> Floats:
    strength = np.exp(here)
    flow = (chosen / (members @ strength)[:, None]).T @ members
    np.fill_diagonal(flow, 0.0)
    return np.asarray(flow * (strength[:, None] + strength[None, :]))
