"""The double-T maze has the optimum published for LMRL-Gym, and random mazes are trees."""

from __future__ import annotations

import pytest

from gymposium.util.streams import Draw, stream
from gymposium_puzzles.planning.maze import DOUBLE_T, MOVES, WALL, Maze, compute_distances, make_maze, step
from gymposium_puzzles.puzzle import Attempt


def test_solver_has_the_published_optimum() -> None:
    rules = Maze("double_t", 5, 100)
    scores = []
    for start in compute_distances(DOUBLE_T):
        attempt = Attempt(None, start, 0)
        while rules.to_move(attempt):
            attempt = rules.play(attempt, {0: rules.solve(attempt)})
        if attempt.made:
            scores.append(rules.returns(attempt)[0])
    assert len(scores) == 25
    assert sum(scores) / 25 == pytest.approx(-6.84)


def test_score_without_the_goal_is_the_number_of_moves() -> None:
    rules = Maze("double_t", 5, 3)
    attempt = Attempt(None, max(compute_distances(DOUBLE_T).items(), key=lambda item: item[1])[0], 0)
    while rules.to_move(attempt):
        attempt = rules.play(attempt, {0: "move up"})
    assert rules.returns(attempt) == (-3.0,)


@pytest.mark.parametrize("size", [2, 5, 10])
def test_random_mazes_are_spanning_trees(size: int) -> None:
    for number in range(20):
        maze = make_maze(size, Draw(stream(number, "test")))
        free = sum(square != WALL for row in maze for square in row)
        distances = compute_distances(maze)
        assert len(distances) == free == 2 * size * size - 1
        edges = {frozenset((place, step(place, move))) for place in distances for move in MOVES}
        assert sum(len(edge) == 2 for edge in edges) == free - 1


def test_starts_are_within_the_moves() -> None:
    rules = Maze("random", 10, 30)
    for seed in range(60):
        place = rules.generate(Draw(stream(seed, "test")))
        assert 0 < compute_distances(place.maze)[place] <= 30
