"""Sampler of the other player's unseen tries in dark hex.

A seat knows which of its tries found a stone, and how many turns the other player had. Everything else is drawn from
random play conditioned on these facts. If the number of tries per turn is known, all sequences are equally likely.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

Try = tuple[int, bool]
"""A tried cell, and whether it was free."""


def draw_tries(
    cells: int, seat: int, tries: Sequence[Try], counts: Sequence[int] | None, abrupt: bool, rng: random.Random
) -> list[list[int]]:
    """Draw the cells that the other player tried in each turn, given the current seat's tries.

    `counts` holds the number of tries per turn, or None if the seat does not learn it. The caller must check that these
    tries did not win the game for the other player."""
    stones: list[int] = []
    stones_found: list[tuple[int, int]] = []
    """Each cell where the seat found a stone, with the number of the other player's turns at that time."""
    before = [0] if seat == 1 else []
    """Number of the seat's stones before each of the other player's turns."""
    for cell, free in tries:
        if free:
            stones.append(cell)
        else:
            stones_found.append((cell, len(before)))
        if free or abrupt:
            before.append(len(stones))
    known = {cell for cell, _ in tries}
    unknown = [cell for cell in range(cells) if cell not in known]
    while True:
        # in chronological order, the number of turns to choose from does not depend on earlier choices
        placed: dict[int, int] = {}
        for cell, turns in stones_found:
            placed[rng.choice([turn for turn in range(turns) if turn not in placed])] = cell
        if not abrupt:
            return _draw_classical(cells, stones, before, placed, unknown, counts, rng)
        drawn = _draw_abrupt(stones, before, placed, unknown, rng)
        if drawn is not None:
            return drawn


def _draw_classical(
    cells: int,
    stones: Sequence[int],
    before: Sequence[int],
    placed: dict[int, int],
    unknown: Sequence[int],
    counts: Sequence[int] | None,
    rng: random.Random,
) -> list[list[int]]:
    """Draw turns for the classical rules: each may start with tries on occupied cells and ends with a stone placed."""
    rest = rng.sample(unknown, len(before) - len(placed))
    drawn: list[list[int]] = []
    hit: set[int] = set()
    for turn, mine in enumerate(before):
        able = [stone for stone in stones[:mine] if stone not in hit]
        if counts is not None:
            taken = rng.sample(able, counts[turn] - 1)
        else:
            # the stone's cell does not depend on the number of failed tries, so these follow random play
            taken, left = [], cells - turn - len(hit)
            while rng.random() * left < len(able):
                taken.append(able.pop(rng.randrange(len(able))))
                left -= 1
        hit.update(taken)
        drawn.append([*taken, placed[turn] if turn in placed else rest.pop()])
    return drawn


def _draw_abrupt(
    stones: Sequence[int], before: Sequence[int], placed: dict[int, int], unknown: Sequence[int], rng: random.Random
) -> list[list[int]] | None:
    """Draw turns for the abrupt rules, with one try each. Return None to reject the draw.

    Draws with more choices per turn are less likely, so rejection makes accepted draws uniform."""
    drawn: list[list[int]] = []
    used: set[int] = set()
    kept = 1.0
    for turn, mine in enumerate(before):
        if turn in placed:
            drawn.append([placed[turn]])
            continue
        able = [cell for cell in (*stones[:mine], *unknown) if cell not in used]
        # the maximum over all orders of turns: later turns face more stones
        kept *= len(able) / (before[len(placed) + len(used)] + len(unknown) - len(used))
        cell = rng.choice(able)
        used.add(cell)
        drawn.append([cell])
    return drawn if rng.random() < kept else None
