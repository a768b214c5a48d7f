"""A sampler of opposing fleets in battleship, uniform over all fleets that fit the shots."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

Shot = tuple[int, str]
"""A square and its result.

Squares are numbered row by row from the top left. Results are `W` for water, `H` for a hit, and `S` for a hit that
sinks a ship."""
Placement = tuple[bool, int]
"""A ship's position: whether it is vertical, and its first square."""


@cache
def list_placements(width: int, height: int, size: int) -> tuple[tuple[Placement, int], ...]:
    """Return all positions of a ship of this size, each with its squares as a bit mask.

    A one-square ship has one position per square, as in the engine."""
    positions = []
    for down in (False, True)[: 1 if size == 1 else 2]:
        for row in range(height - (size - 1) * down):
            for column in range(width - (size - 1) * (not down)):
                first, step = row * width + column, width if down else 1
                positions.append(((down, first), sum(1 << (first + step * i) for i in range(size))))
    return tuple(positions)


def draw_fleet(
    width: int, height: int, sizes: Sequence[int], shots: Sequence[Shot], rng: random.Random
) -> list[Placement]:
    """Draw a fleet consistent with the results of these shots, uniformly over all such fleets.

    A shot's result depends only on the ship it hits. So each ship's consistent positions are listed separately, grouped
    by the hits they explain. A choice's weight is the number of ways to divide the remaining hits among the later
    ships. Fleets with overlapping ships are redrawn."""
    hits = sum({1 << square for square, result in shots if result != "W"})
    water = sum({1 << square for square, result in shots if result == "W"})
    by_hits: list[dict[int, list[tuple[Placement, int]]]] = []
    for size in sizes:
        explains: dict[int, list[tuple[Placement, int]]] = {}
        for lie, squares in list_placements(width, height, size):
            if not squares & water and (not squares & hits or _fits_shots(squares, shots)):
                explains.setdefault(squares & hits, []).append((lie, squares))
        by_hits.append(explains)

    @cache
    def count_ways(ship: int, left: int) -> int:
        """Count the placements of this ship and the later ships that explain the remaining hits."""
        if ship == len(by_hits):
            return not left
        return sum(
            len(some) * count_ways(ship + 1, left ^ own) for own, some in by_hits[ship].items() if own & left == own
        )

    while True:
        left, taken, fleet = hits, 0, []
        for ship, explains in enumerate(by_hits):
            able = [own for own in explains if own & left == own]
            weights = [len(explains[own]) * count_ways(ship + 1, left ^ own) for own in able]
            [own] = rng.choices(able, weights)
            lie, squares = rng.choice(explains[own])
            if taken & squares:
                break
            taken |= squares
            left ^= own
            fleet.append(lie)
        else:
            return fleet


def _fits_shots(squares: int, shots: Sequence[Shot]) -> bool:
    """Return whether a ship on these squares explains the observed results."""
    hit = 0
    for square, result in shots:
        if squares >> square & 1:
            hit |= 1 << square
            if result != ("S" if hit == squares else "H"):
                return False
    return True
