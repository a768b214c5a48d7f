"""Place descriptions in the rules match the plain squares: neighbors, straight paths, and the six directions."""

from __future__ import annotations

import pytest

from gymposium_disguises.places import Places, list_squares, read_cells
from gymposium_disguises.speech import Speech

SEEDS = range(1, 13)
WIDE, HIGH = 5, 4


def places(seed: int, *, mirrored: bool = True) -> Places:
    return Places(Speech(seed, "test"), list_squares(WIDE, HIGH), mirrored=mirrored)


def at(board: Places, square: str) -> tuple[int, int]:
    """The numbers of a place's first and second word in the orders that the rules list."""
    first, _, second = board.name[square].partition("-")
    return board.outer.index(first), board.inner.index(second)


def plain(square: str) -> tuple[int, int]:
    return ord(square[0]), int(square[1:])


def step(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return other[0] - one[0], other[1] - one[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbors_and_straight_paths_match_the_board(seed: int) -> None:
    board = places(seed)
    assert len(set(board.name.values())) == WIDE * HIGH
    for one in board.name:
        for other in board.name:
            here, there = step(plain(one), plain(other)), step(at(board, one), at(board, other))
            assert sorted(map(abs, here)) == sorted(map(abs, there))
    paths = [("a1", "b2", "c3"), ("a4", "b3", "c2"), ("b1", "b2", "b3"), ("c2", "d2", "e2")]
    for a, b, c in paths:
        assert step(at(board, a), at(board, b)) == step(at(board, b), at(board, c))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("other_way", [True, False])
def test_third_hexagon_direction_matches_the_rules(seed: int, other_way: bool) -> None:
    board = places(seed, mirrored=False)
    third = (1, -1) if other_way else (1, 1)
    assert f"one {board.second} {'earlier' if other_way else 'later'}" in board.explain_touching(other_way)
    for one in board.name:
        for other in board.name:
            here, there = step(plain(one), plain(other)), step(at(board, one), at(board, other))
            assert (here in (third, (-third[0], -third[1]))) == (there in (third, (-third[0], -third[1])))


def test_rows_and_columns_have_separate_words() -> None:
    for seed in SEEDS:
        board = places(seed)
        for square, name in board.name.items():
            column, row = ord(square[0]) - ord("a"), int(square[1:]) - 1
            assert {*name.split("-")} == {board.rows[row], board.columns[column]}
        assert {board.row, board.column} == {board.first, board.second}
        assert (board.outer == board.columns or board.outer == board.columns[::-1]) == board.crossed


def test_layout_depends_on_the_seed() -> None:
    boards = [places(seed) for seed in SEEDS]
    assert {board.crossed for board in boards} == {True, False}
    assert {at(board, "a1") for board in boards} >= {(0, 0), (3, 4)} or len({at(board, "a1") for board in boards}) >= 3


def test_lists_are_grouped_in_the_order_of_the_rules() -> None:
    board = places(3)
    told = board.group_places(reversed(list_squares(WIDE, HIGH)))
    assert [group.partition(":")[0] for group in told.split("; ")] == board.outer
    assert all(group.partition(": ")[2].split() == board.inner for group in told.split("; "))
    assert board.group_places([]) == "none"


def test_moves_are_renamed_square_by_square() -> None:
    board = places(3)
    assert board.rename_move("a1b2") == f"{board.name['a1']} to {board.name['b2']}"
    assert board.rename_if_move("a1b9") == "a1b9"


def test_engine_boards_are_read_from_row_one() -> None:
    assert read_cells("2x.8\n18o.\n abc\n") == "8o.x.8"
