"""The queens puzzle: solutions are counted as known, and every instance can be completed."""

from __future__ import annotations

import pytest

from gymposium import load_game
from gymposium.games.rules import RulesGame
from gymposium_puzzles.logic.n_queens import NONE, find_completions


@pytest.mark.parametrize(("size", "count"), [(5, 10), (6, 4), (7, 40), (8, 92)])
def test_number_of_solutions_is_the_known_one(size: int, count: int) -> None:
    """The sequence A000170 of the On-Line Encyclopedia of Integer Sequences."""
    assert len({*find_completions((NONE,) * size, range(size))}) == count


def test_given_queens_are_part_of_a_solution_and_stay() -> None:
    game = load_game("n_queens", given=4)
    assert isinstance(game, RulesGame)
    boards = [game.new(seed).state.position for seed in range(20)]
    assert len({board.given for board in boards}) > 15
    for board in boards:
        assert sum(column != NONE for column in board.given) == 4
        assert next(find_completions(board.given, range(8)))
        rows = {int(move[-1]) - 1 for move in game.author.list_moves(board)}  # type: ignore[attr-defined]
        assert rows == {row for row, column in enumerate(board.given) if column == NONE}
