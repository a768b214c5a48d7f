"""Players who beat each other in a ring: rock, paper, scissors. No list from best to worst shows that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def cycles(beats: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """A shortest ring for each set of players that are tied up in rings with each other: each beats the next, the last
    the first. `beats` has the shape (n, n) and holds only what is sure."""
    from scipy.sparse.csgraph import connected_components

    number, knot = connected_components(beats.astype(float), directed=True, connection="strong")
    rings = [_shortest(beats, np.flatnonzero(knot == k).tolist()) for k in range(number) if (knot == k).sum() > 1]
    return sorted(rings)


def _shortest(beats: NDArray[np.bool_], members: Sequence[int]) -> tuple[int, ...]:
    rings = [ring for start in members if (ring := _ring(beats, members, start))]
    return min(rings, key=lambda ring: (len(ring), ring))


def _ring(beats: NDArray[np.bool_], members: Sequence[int], start: int) -> tuple[int, ...]:
    """A shortest way from `start` back to it, breadth first."""
    ways: list[tuple[int, ...]] = [(start,)]
    seen: set[int] = set()
    for way in ways:
        for then in members:
            if not beats[way[-1], then]:
                continue
            if then == start:
                return way
            if then not in seen:
                seen.add(then)
                ways.append((*way, then))
    return ()
