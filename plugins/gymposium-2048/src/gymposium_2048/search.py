"""Expectimax for 2048, compiled by numba.

A board is a number of 64 bits: its four lines of `rows`, the top one lowest. Sliding up or down is sliding the lines
of the board's mirror image along its diagonal. What a board is worth is worth its mirror image, too, so that the search
never turns it back.

Importing numba and compiling, at the first call of a process, take about two CPU seconds together: nothing is kept on
disk, since numba would keep it beside the package's own files, where uninstalling does not look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gymposium_2048.rows import Rows

UNLIKELY = 1e-3
"""A board is not looked beyond where what chance brought since the position is less likely than this."""
END = 2e6
"""What it is worth that the tile is made that ends the game: more than any board. A board without a legal move is worth
the same below 0: less than any other."""
DIRECTIONS = 4

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """numba tells no types."""
    return cast(Callable[_P, _R], numba.njit(function))


# Shifts and masks are of the board's own type: numba makes a float of a signed and an unsigned number together.
_LINE, _4, _12, _16, _24, _32, _48 = (np.uint64(n) for n in (0xFFFF, 4, 12, 16, 24, 32, 48))
_SQUARE, _FIRST_BITS, _LAST_BITS = np.uint64(0xF), np.uint64(0x1111111111111111), np.uint64(0x8888888888888888)
_STAY, _RIGHT, _LEFT = np.uint64(0xF0F00F0FF0F00F0F), np.uint64(0x0000F0F00000F0F0), np.uint64(0x0F0F00000F0F0000)
_STAY_2, _RIGHT_2, _LEFT_2 = np.uint64(0xFF00FF0000FF00FF), np.uint64(0x00000000FF00FF00), np.uint64(0x00FF00FF00000000)


@_compiled
def mirrored(board: np.uint64) -> np.uint64:
    """Rows as columns: the squares of each 2 by 2 change places, then the four 2 by 2."""
    half = board & _STAY | (board & _RIGHT) << _12 | (board & _LEFT) >> _12
    return half & _STAY_2 | (half & _RIGHT_2) << _24 | (half & _LEFT_2) >> _24


@_compiled
def slid(board: np.uint64, table: NDArray[np.uint16]) -> np.uint64:
    """All four lines slid by a table of `Rows`."""
    first, second = np.uint64(table[board & _LINE]), np.uint64(table[board >> _16 & _LINE])
    third, fourth = np.uint64(table[board >> _32 & _LINE]), np.uint64(table[board >> _48])
    return first | second << _16 | third << _32 | fourth << _48


@_compiled
def worth(board: np.uint64, lines: NDArray[np.int32]) -> int:
    """A board as it stands: the sum over its rows and columns."""
    total = 0
    for one in (board, mirrored(board)):
        total += lines[one & _LINE] + lines[one >> _16 & _LINE] + lines[one >> _32 & _LINE] + lines[one >> _48]
    return total


@_compiled
def holds(board: np.uint64, rank: int) -> bool:
    """Whether a tile of this rank is on the board; False of a rank that a board cannot tell."""
    if rank > 15:
        return False
    gone = board ^ np.uint64(rank) * _FIRST_BITS  # a square is 0 where it held the rank
    return bool((gone - _FIRST_BITS) & ~gone & _LAST_BITS)


@_compiled
def expected(after: np.uint64, moves: int, likely: float, last: int, tables: Rows) -> float:
    """What a board is worth after a slide and before the new tile, with so many moves of look-ahead left."""
    if holds(after, last):
        return END + moves  # rather now than later
    if moves == 0 or likely < UNLIKELY:
        return float(worth(after, tables.worth))
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
                for lines in (board, mirrored(board)):
                    for table in (tables.to_first, tables.to_last):
                        then = slid(lines, table)
                        if then != lines:
                            best = max(best, expected(then, moves - 1, likely * chance / empty, last, tables))
                total += chance * best
    return total / empty


@_compiled
def values(board: np.uint64, moves: int, last: int, tables: Rows) -> NDArray[np.float64]:
    """What each direction is worth, as the engine numbers them: up, right, down, left. -inf where nothing changes.

    `moves` is the look-ahead, that direction included; `last` is the rank of the tile that ends the game."""
    found = np.full(DIRECTIONS, -np.inf)
    for direction in range(DIRECTIONS):
        lines = board if direction % 2 else mirrored(board)
        then = slid(lines, tables.to_first if direction in (0, 3) else tables.to_last)
        if then != lines:
            found[direction] = expected(then, moves - 1, 1.0, last, tables)
    return found
