"""The fifteen puzzle: solutions are shortest, by an independent breadth-first search."""

from __future__ import annotations

from collections import deque

import pytest

from gymposium import load_game
from gymposium.games.rules import RulesGame
from gymposium_puzzles.planning.fifteen import Tiles, estimate_slides, find_path, list_neighbors, slide


def measure_all(size: int, most: int) -> dict[Tiles, int]:
    """Return the distance of all positions within this many slides of the goal."""
    goal: Tiles = (*range(1, size * size), 0)
    found, queue = {goal: 0}, deque([goal])
    while queue:
        tiles = queue.popleft()
        if found[tiles] == most:
            continue
        for square in list_neighbors(tiles.index(0), size):
            after = slide(tiles, square)
            if after not in found:
                found[after] = found[tiles] + 1
                queue.append(after)
    return found


@pytest.mark.parametrize(("size", "most", "count"), [(2, 99, 12), (3, 12, None), (4, 8, None)])
def test_solutions_are_shortest(size: int, most: int, count: int | None) -> None:
    found = measure_all(size, most)
    assert count in (None, len(found))  # half of the 24 orders of a board of 2 rows can be reached
    for tiles, distance in [*found.items()][:: max(1, len(found) // 200)]:
        assert estimate_slides(tiles, size) <= distance
        assert len(find_path(tiles, size)) == distance


def test_instances_are_mixed() -> None:
    game = load_game("fifteen", mixed=9)
    assert isinstance(game, RulesGame)
    distances = {len(find_path(game.new(seed).state.position, 3)) for seed in range(30)}
    assert max(distances) <= 10
    assert min(distances) > 0
