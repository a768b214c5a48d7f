"""Find cycles of players that beat each other in turn, like rock, paper and scissors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def find_cycles(beats: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return a shortest cycle in each strongly connected component with more than one player.

    Each player in a cycle beats the next, and the last beats the first. `beats`, shape (n, n), is True where the row
    player surely beats the column player."""
    from scipy.sparse.csgraph import connected_components

    number, component = connected_components(beats.astype(float), directed=True, connection="strong")
    knots = [np.flatnonzero(component == k).tolist() for k in range(number)]
    return sorted(
        min((_find_cycle(beats, knot, start) for start in knot), key=lambda cycle: (len(cycle), cycle))
        for knot in knots
        if len(knot) > 1
    )


def _find_cycle(beats: NDArray[np.bool_], members: Sequence[int], start: int) -> tuple[int, ...]:
    """Return a shortest cycle through `start` in a strongly connected component, by breadth-first search."""
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
