"""Fleets that a player of battleship may face, drawn evenly: for search, which must not see where the other's ships
are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

Shot = tuple[int, str]
"""A square, counted along the rows from the top left, and what the engine tells the shooter: `W` water, `H` a hit,
`S` a hit on a ship that is sunk by then."""
Lie = tuple[bool, int]
"""How a ship lies: downwards or not, and its first square."""


@cache
def lies(width: int, height: int, size: int) -> tuple[tuple[Lie, int], ...]:
    """All ways for a ship of this size to lie, each with its squares as the bits of a number. A ship of one square
    has but one in each place, as in the engine."""
    found = []
    for down in (False, True)[: 1 if size == 1 else 2]:
        for row in range(height - (size - 1) * down):
            for column in range(width - (size - 1) * (not down)):
                first, step = row * width + column, width if down else 1
                found.append(((down, first), sum(1 << (first + step * i) for i in range(size))))
    return tuple(found)


def draw_fleet(width: int, height: int, sizes: Sequence[int], shots: Sequence[Shot], rng: random.Random) -> list[Lie]:
    """One of the fleets at which these shots would have been told so, every one as likely.

    What a shot is told depends on the one ship that it hits. So the ways to lie that agree with the shots are listed
    for each ship alone, and sorted by the hits that they explain. To share the hits out among the ships can then be
    counted, which gives every choice its due weight; choices in which ships overlap elsewhere are drawn again."""
    hits = sum({1 << square for square, told in shots if told != "W"})
    water = sum({1 << square for square, told in shots if told == "W"})
    by_hits: list[dict[int, list[tuple[Lie, int]]]] = []
    for size in sizes:
        explains: dict[int, list[tuple[Lie, int]]] = {}
        for lie, squares in lies(width, height, size):
            if not squares & water and (not squares & hits or _agrees(squares, shots)):
                explains.setdefault(squares & hits, []).append((lie, squares))
        by_hits.append(explains)

    @cache
    def ways(ship: int, left: int) -> int:
        """How many choices for this ship and those after it explain the hits that are left."""
        if ship == len(by_hits):
            return not left
        return sum(len(some) * ways(ship + 1, left ^ own) for own, some in by_hits[ship].items() if own & left == own)

    while True:
        left, taken, fleet = hits, 0, []
        for ship, explains in enumerate(by_hits):
            able = [own for own in explains if own & left == own]
            weights = [len(explains[own]) * ways(ship + 1, left ^ own) for own in able]
            [own] = rng.choices(able, weights)
            lie, squares = rng.choice(explains[own])
            if taken & squares:
                break
            taken |= squares
            left ^= own
            fleet.append(lie)
        else:
            return fleet


def _agrees(squares: int, shots: Sequence[Shot]) -> bool:
    """Whether the shots at a ship on these squares would have been told as they were."""
    hit = 0
    for square, told in shots:
        if squares >> square & 1:
            hit |= 1 << square
            if told != ("S" if hit == squares else "H"):
                return False
    return True
