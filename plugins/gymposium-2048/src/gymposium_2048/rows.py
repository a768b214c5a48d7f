"""What can be said of a single line of a 2048 board, looked up: how it slides, and what it is worth.

A tile is told by its rank, the power of two that it is: 1 for a 2, 11 for a 2048, 0 for an empty square. A line is a
number of 16 bits, 4 for each square, the first square lowest, so there are 65536 of them. 4 bits end at rank 15:
a tile of 32768 and whatever is greater look alike here, and two of them make another such tile.

What a line is worth:

- `EMPTY` for each empty square, and `PAIR` for each two alike that would merge: room;
- less `ORDER` for each step against the order of the line, in fourth powers of the ranks, counted in whichever
  direction there is less of it: great tiles in order along an edge, which keeps the greatest in a corner;
- less `TILES` for the third power of each rank: few great tiles rather than many small ones.

Empty squares and order are the terms of Matt Overlan's 2048-AI; powers of the ranks, pairs and the cost of tiles are
those of nneonneo's 2048-ai, with the heuristics that xificurk added to it (https://stackoverflow.com/a/22498940).
Powers and weights here are whole numbers of our own, tried on some thousand matches of two and three moves of
look-ahead, so that sums are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

GREATEST = 15
"""The rank of a tile of 32768 or more."""
EMPTY, PAIR, ORDER, TILES = 150, 150, 2, 3

_SHIFTS = np.array([0, 4, 8, 12])


class Rows(NamedTuple):
    """Of each line, by its number."""

    to_first: NDArray[np.uint16]
    """What it is once its tiles slid towards the first square."""
    to_last: NDArray[np.uint16]
    """What it is once they slid towards the last."""
    worth: NDArray[np.int32]


def rows() -> Rows:
    """The tables."""
    ranks = np.arange(65536)[:, None] >> _SHIFTS & 15
    return Rows(_number(_slid(ranks)), _number(_slid(ranks[:, ::-1])[:, ::-1]), _worth(ranks).astype(np.int32))


def _number(ranks: NDArray[np.int64]) -> NDArray[np.uint16]:
    numbers: NDArray[np.int64] = (ranks << _SHIFTS).sum(axis=1)
    return numbers.astype(np.uint16)


def _packed(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tiles first and in their order, empty squares behind them."""
    return np.take_along_axis(ranks, np.argsort(ranks == 0, axis=1, kind="stable"), axis=1)


def _slid(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    ranks = _packed(ranks)
    for here in range(3):  # where two merge, the second leaves a gap, so that nothing merges twice
        merge = (ranks[:, here] == ranks[:, here + 1]) & (ranks[:, here] > 0)
        ranks[merge, here] = np.minimum(ranks[merge, here] + 1, GREATEST)
        ranks[merge, here + 1] = 0
    return _packed(ranks)


def _worth(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    packed, steps = _packed(ranks), np.diff(ranks**4, axis=1)
    pairs = ((packed[:, 1:] == packed[:, :-1]) & (packed[:, 1:] > 0)).sum(axis=1)
    up, down = np.maximum(steps, 0).sum(axis=1), np.maximum(-steps, 0).sum(axis=1)
    worth: NDArray[np.int64] = EMPTY * (ranks == 0).sum(axis=1) + PAIR * pairs
    worth -= ORDER * np.minimum(up, down) + TILES * (ranks**3).sum(axis=1)
    return worth
