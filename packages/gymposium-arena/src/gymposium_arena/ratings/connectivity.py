"""Find the rating differences that results determine, from the connectivity of scores.

In the directed graph of scores, an edge leads from each player to those it scored against. If it is strongly connected,
a finite maximum-likelihood rating exists (Hunter, 2004, MM algorithms for generalized Bradley–Terry models, assumption
1). A player that never lost a point to the players below is above them by an unknown distance.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats

Bound = Literal["interval", "at least", "at most"]
"""Which ends of a rating's interval exist: both, only the lower, or only the upper."""


def find_component(met: NDArray[np.bool_], anchor: int) -> NDArray[np.int_]:
    """Return the ascending indices of `anchor` and the players connected with it.

    `met`, shape (n, n), is True for players that have met."""
    return np.flatnonzero(_find_paths(met)[anchor])


def find_bounds(points: Floats, anchor: int) -> list[Bound | None]:
    """Return which ends of each player's distance from `anchor` are known; None if no path of scores connects the two.

    `points` has the shape (n, n)."""
    paths = _find_paths(points > 0.0)
    known: dict[tuple[bool, bool], Bound | None] = {
        (True, True): "interval",
        (True, False): "at least",
        (False, True): "at most",
        (False, False): None,
    }
    return [known[bool(paths[player, anchor]), bool(paths[anchor, player])] for player in range(len(points))]


def _find_paths(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether a path leads from row to column in a directed graph, shape (n, n)."""
    from scipy.sparse.csgraph import shortest_path

    return np.asarray(np.isfinite(shortest_path(edges.astype(float), unweighted=True)))
