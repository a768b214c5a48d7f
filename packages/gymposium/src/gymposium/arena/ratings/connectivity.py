"""What results can say of a player's distance from another at all.

Ratings exist where from everybody to everybody there is a way of scores: one scored against another, who scored against
a third (Hunter, 2004, MM algorithms for generalized Bradley–Terry models, assumption 1). Whoever never lost a point to
the players below is above them, nobody knows how far.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.ratings.comparisons import Floats

Bound = Literal["interval", "at least", "at most"]
"""What is known of a rating: both ends, only the lower one, or only the upper one."""


def company(met: NDArray[np.bool_], anchor: int) -> NDArray[np.int_]:
    """Who is joined to `anchor` by matches, through others if need be; ascending, itself included."""
    return np.flatnonzero(_ways(met)[anchor])


def bounds(points: Floats, anchor: int) -> list[Bound | None]:
    """What is known of each player's distance from `anchor`; None where nothing is, since no way of scores leads from
    the one to the other, nor back. Shape of `points`: (n, n)."""
    ways = _ways(points > 0.0)
    known: dict[tuple[bool, bool], Bound | None] = {
        (True, True): "interval",
        (True, False): "at least",
        (False, True): "at most",
        (False, False): None,
    }
    return [known[bool(ways[player, anchor]), bool(ways[anchor, player])] for player in range(len(points))]


def _ways(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Shape (n, n): whether one can be reached from the other."""
    from scipy.sparse.csgraph import shortest_path

    return np.asarray(np.isfinite(shortest_path(edges.astype(float), unweighted=True)))
