"""What the other player of dark hex may have tried, unseen: for search, which must not see it.

A seat knows which of its own tries found a stone, and how many turns the other had. All else is drawn as random play
would bring it about, given that: where the number of the other's tries is known, each sequence is as likely.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

Try = tuple[int, bool]
"""A cell, and whether it was free."""


def draw_tries(
    cells: int, seat: int, tries: Sequence[Try], counts: Sequence[int] | None, abrupt: bool, rng: random.Random
) -> list[list[int]]:
    """The cells that the other tried in each of its turns, for a seat that is to move and made these tries. `counts`
    says how many they were, where that is told. The other may have won by them, which is for the caller to see."""
    stones: list[int] = []
    found: list[tuple[int, int]] = []
    """Cells where the other was found, and how many turns it had had by then."""
    before = [0] if seat == 1 else []
    """How many own stones there were before each turn of the other."""
    for cell, free in tries:
        if free:
            stones.append(cell)
        else:
            found.append((cell, len(before)))
        if free or abrupt:
            before.append(len(stones))
    known = {cell for cell, _ in tries}
    unknown = [cell for cell in range(cells) if cell not in known]
    while True:
        # in order of time each has the same number of turns to choose from, whatever the earlier ones have chosen
        placed: dict[int, int] = {}
        for cell, turns in found:
            placed[rng.choice([turn for turn in range(turns) if turn not in placed])] = cell
        if not abrupt:
            return _classical(cells, stones, before, placed, unknown, counts, rng)
        drawn = _abrupt(stones, before, placed, unknown, rng)
        if drawn is not None:
            return drawn


def _classical(
    cells: int,
    stones: Sequence[int],
    before: Sequence[int],
    placed: dict[int, int],
    unknown: Sequence[int],
    counts: Sequence[int] | None,
    rng: random.Random,
) -> list[list[int]]:
    """Each turn ends with a stone; tries of cells that were taken go before it."""
    rest = rng.sample(unknown, len(before) - len(placed))
    drawn: list[list[int]] = []
    hit: set[int] = set()
    for turn, mine in enumerate(before):
        able = [stone for stone in stones[:mine] if stone not in hit]
        if counts is not None:
            taken = rng.sample(able, counts[turn] - 1)
        else:
            # where a stone then goes does not depend on how many tries failed, so these are as in random play
            taken, left = [], cells - turn - len(hit)
            while rng.random() * left < len(able):
                taken.append(able.pop(rng.randrange(len(able))))
                left -= 1
        hit.update(taken)
        drawn.append([*taken, placed[turn] if turn in placed else rest.pop()])
    return drawn


def _abrupt(
    stones: Sequence[int], before: Sequence[int], placed: dict[int, int], unknown: Sequence[int], rng: random.Random
) -> list[list[int]] | None:
    """One try a turn. None where this one is left out, so that those that are kept are even: the more choices there
    were on the way, the less likely the one that was made."""
    drawn: list[list[int]] = []
    used: set[int] = set()
    kept = 1.0
    for turn, mine in enumerate(before):
        if turn in placed:
            drawn.append([placed[turn]])
            continue
        able = [cell for cell in (*stones[:mine], *unknown) if cell not in used]
        # no order of turns offers more: the latest have the most stones to run into
        kept *= len(able) / (before[len(placed) + len(used)] + len(unknown) - len(used))
        cell = rng.choice(able)
        used.add(cell)
        drawn.append([cell])
    return drawn if rng.random() < kept else None
