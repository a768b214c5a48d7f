"""Cycles: players who beat each other in a ring, such as rock, paper and scissors, which a ranking cannot show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def cycles(beats: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """A shortest cycle of each strongly connected component with more than one player: each player of a cycle beats the
    next, and the last beats the first. `beats`, shape (n, n), is True where the row's player surely beats the
    column's."""
    from scipy.sparse.csgraph import connected_components

    number, component = connected_components(beats.astype(float), directed=True, connection="strong")
    knots = [np.flatnonzero(component == k).tolist() for k in range(number)]
    return sorted(
        min((_cycle(beats, knot, start) for start in knot), key=lambda cycle: (len(cycle), cycle))
        for knot in knots
        if len(knot) > 1
    )


def _cycle(beats: NDArray[np.bool_], members: Sequence[int], start: int) -> tuple[int, ...]:
    """A shortest path from `start` back to itself inside a strongly connected component, by breadth-first search."""
    paths: list[tuple[int, ...]] = [(start,)]
    reached: set[int] = set()
    for path in paths:
        for successor in members:
            if not beats[path[-1], successor]:
                continue
            if successor == start:
                return path
            if successor not in reached:
                reached.add(successor)
                paths.append((*path, successor))
    raise ValueError(f"the players {members} are not strongly connected")
