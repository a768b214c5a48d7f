"""Expectimax for 2048, compiled by numba.

A board is a 64-bit number: its four lines as in `rows`, with the top line in the lowest bits. To slide up or down, the
search transposes the board and slides its lines. A board and its transpose have the same value, so the search never
transposes it back.

Importing numba and compiling take about two CPU seconds together, at the first call in each process. Nothing is cached
on disk, because numba stores its cache beside the package's files, and uninstalling would not remove it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gymposium_2048.rows import LineTables

UNLIKELY = 1e-3
"""Boards that are reached with a lower probability than this are evaluated without further search."""
END = 2e6
"""Value of making the tile that ends the game, above any board's value. A board without a legal move has
minus this value."""
DIRECTIONS = 4

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _compile(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function. numba has no type annotations, so the type is restored here."""
    return cast(Callable[_P, _R], numba.njit(function))


# Shifts and masks use the board's type, because numba converts a signed and an unsigned operand to float.
_LINE, _4, _12, _16, _24, _32, _48 = (np.uint64(n) for n in (0xFFFF, 4, 12, 16, 24, 32, 48))
_SQUARE, _FIRST_BITS, _LAST_BITS = np.uint64(0xF), np.uint64(0x1111111111111111), np.uint64(0x8888888888888888)
_STAY, _RIGHT, _LEFT = np.uint64(0xF0F00F0FF0F00F0F), np.uint64(0x0000F0F00000F0F0), np.uint64(0x0F0F00000F0F0000)
_STAY_2, _RIGHT_2, _LEFT_2 = np.uint64(0xFF00FF0000FF00FF), np.uint64(0x00000000FF00FF00), np.uint64(0x00FF00FF00000000)


@_compile
def transpose_board(board: np.uint64) -> np.uint64:
    """Return the transposed board: first each block of 2 by 2 squares is transposed, then the four blocks are."""
    half = board & _STAY | (board & _RIGHT) << _12 | (board & _LEFT) >> _12
    return half & _STAY_2 | (half & _RIGHT_2) << _24 | (half & _LEFT_2) >> _24


@_compile
def slide_board(board: np.uint64, table: NDArray[np.uint16]) -> np.uint64:
    """Return the board after all four lines have slid, using a table of `LineTables`."""
    first, second = np.uint64(table[board & _LINE]), np.uint64(table[board >> _16 & _LINE])
    third, fourth = np.uint64(table[board >> _32 & _LINE]), np.uint64(table[board >> _48])
    return first | second << _16 | third << _32 | fourth << _48


@_compile
def evaluate_board(board: np.uint64, lines: NDArray[np.int32]) -> int:
    """Return the value of a board without search: the sum over its rows and columns."""
    total = 0
    for side in (board, transpose_board(board)):
        total += lines[side & _LINE] + lines[side >> _16 & _LINE] + lines[side >> _32 & _LINE] + lines[side >> _48]
    return total


@_compile
def has_tile(board: np.uint64, rank: int) -> bool:
    """Return whether the board has a tile of this rank; False for ranks that do not fit into 4 bits."""
    if rank > 15:
        return False
    gone = board ^ np.uint64(rank) * _FIRST_BITS  # squares with this rank become 0
    return bool((gone - _FIRST_BITS) & ~gone & _LAST_BITS)


@_compile
def evaluate_after_slide(after: np.uint64, moves: int, likely: float, last: int, tables: LineTables) -> float:
    """Return the value of a board after a slide and before the new tile.

    `moves` is the look-ahead left, `likely` the probability of the new tiles since the root, and `last` the rank of the
    tile that ends the game."""
    if has_tile(after, last):
        return END + moves  # sooner is better
    if moves == 0 or likely < UNLIKELY:
        return float(evaluate_board(after, tables.worth))
    empty = 0
    for square in range(16):
        empty += after >> _4 * np.uint64(square) & _SQUARE == np.uint64(0)
    total = 0.0
    for square in range(16):
        shift = _4 * np.uint64(square)
        if after >> shift & _SQUARE == np.uint64(0):
            for rank, chance in ((1, 0.9), (2, 0.1)):
                board = after | np.uint64(rank) << shift
                best = -END
                for lines in (board, transpose_board(board)):
                    for table in (tables.to_first, tables.to_last):
                        then = slide_board(lines, table)
                        if then != lines:
                            best = max(
                                best, evaluate_after_slide(then, moves - 1, likely * chance / empty, last, tables)
                            )
                total += chance * best
    return total / empty


@_compile
def compute_values(board: np.uint64, moves: int, last: int, tables: LineTables) -> NDArray[np.float64]:
    """Return the value of each direction in the engine's order: up, right, down, left.

    A direction that changes nothing has the value -inf. `moves` is the look-ahead, this move included, and `last` the
    rank of the tile that ends the game."""
    worths = np.full(DIRECTIONS, -np.inf)
    for direction in range(DIRECTIONS):
        lines = board if direction % 2 else transpose_board(board)
        then = slide_board(lines, tables.to_first if direction in (0, 3) else tables.to_last)
        if then != lines:
            worths[direction] = evaluate_after_slide(then, moves - 1, 1.0, last, tables)
    return worths
