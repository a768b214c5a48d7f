"""Peg jump: jumps follow the rules, and instances have solutions, by an independent search."""

from __future__ import annotations

import pytest

from gymposium import load_game

Hole = tuple[int, int]


def read_pegs(text: str) -> tuple[frozenset[Hole], int]:
    """Return the holes with a peg, and the side of the triangle, from the board's text."""
    rows = [line.split() for line in text.splitlines() if "*" in line or "." in line.replace("left.", "")]
    rows = [row for row in rows if all(cell[-1] in "*." for cell in row)]
    return frozenset((y, x) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell[-1] == "*"), len(rows)


def find_jumps(pegs: frozenset[Hole], side: int) -> dict[tuple[Hole, Hole], frozenset[Hole]]:
    found = {}
    for y, x in pegs:
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1)):
            over, land = (y + dy, x + dx), (y + 2 * dy, x + 2 * dx)
            if over in pegs and land not in pegs and 0 <= land[1] <= land[0] < side:
                found[(y, x), land] = pegs - {(y, x), over} | {land}
    return found


def is_solvable(pegs: frozenset[Hole], side: int) -> bool:
    return len(pegs) == 1 or any(is_solvable(after, side) for after in find_jumps(pegs, side).values())


@pytest.mark.parametrize(("side", "pegs"), [(4, 5), (5, 7)])
def test_instances_are_solvable_and_jumps_follow_the_rules(side: int, pegs: int) -> None:
    game = load_game("peg_jump", side=side, pegs=pegs)
    for seed in range(10):
        match = game.new(seed)
        held, rows = read_pegs(match.observe(0, "compact").text.partition("left")[0])
        assert (len(held), rows) == (pegs, side)
        assert is_solvable(held, side)
        names = {
            f"{y * (y + 1) // 2 + x + 1} to {v * (v + 1) // 2 + u + 1}" for (y, x), (v, u) in find_jumps(held, side)
        }
        assert set(match.legal_moves(0) or ()) == names
