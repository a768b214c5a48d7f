"""Lookup tables for the lines of a 2048 board: how each line slides, and its value.

A tile is represented by its rank, the exponent of its power of two: 1 for a 2, 11 for a 2048, 0 for an empty square. A
line is a 16-bit number, 4 bits per square, with the first square in the lowest bits, so there are 65536 lines. With
4 bits the highest rank is 15: all tiles from 32768 on are equal, and two of them merge into another one.

The value of a line is the sum of these terms:

- `EMPTY` for each empty square, and `PAIR` for each pair of tiles that would merge, which reward free space;
- minus `ORDER` for each unit of disorder. Disorder is the sum of the differences between fourth powers of neighboring
  ranks, over either all increases or all decreases, whichever is less. This keeps large tiles in order along an edge,
  and the largest in a corner;
- minus `TILES` for the third power of each rank, which favors few large tiles over many small ones.

The terms for empty squares and order come from Matt Overlan's 2048-AI. Powers of ranks, pairs and the cost of tiles
come from nneonneo's 2048-ai, with heuristics by xificurk (https://stackoverflow.com/a/22498940). The powers and weights
here are integers, so sums are exact. They were tuned on some thousand matches with two and three moves of look-ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

GREATEST = 15
"""Rank of all tiles of 32768 or more."""
EMPTY, PAIR, ORDER, TILES = 150, 150, 2, 3

_SHIFTS = np.array([0, 4, 8, 12])


class LineTables(NamedTuple):
    """Tables indexed by line number."""

    to_first: NDArray[np.uint16]
    """The resulting line if the tiles slide towards the first square."""
    to_last: NDArray[np.uint16]
    """The resulting line if the tiles slide towards the last square."""
    worth: NDArray[np.int32]
    """Value of the line."""


def compute_tables() -> LineTables:
    """Compute the tables."""
    ranks = np.arange(65536)[:, None] >> _SHIFTS & 15
    return LineTables(
        _pack_ranks(_slide_left(ranks)),
        _pack_ranks(_slide_left(ranks[:, ::-1])[:, ::-1]),
        _evaluate_lines(ranks).astype(np.int32),
    )


def _pack_ranks(ranks: NDArray[np.int64]) -> NDArray[np.uint16]:
    numbers: NDArray[np.int64] = (ranks << _SHIFTS).sum(axis=1)
    return numbers.astype(np.uint16)


def _close_gaps(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move the tiles of each line to its first squares, in order."""
    return np.take_along_axis(ranks, np.argsort(ranks == 0, axis=1, kind="stable"), axis=1)


def _slide_left(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    ranks = _close_gaps(ranks)
    for here in range(3):  # the gap after a merged tile keeps it from merging twice
        merge = (ranks[:, here] == ranks[:, here + 1]) & (ranks[:, here] > 0)
        ranks[merge, here] = np.minimum(ranks[merge, here] + 1, GREATEST)
        ranks[merge, here + 1] = 0
    return _close_gaps(ranks)


def _evaluate_lines(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    packed, steps = _close_gaps(ranks), np.diff(ranks**4, axis=1)
    pairs = ((packed[:, 1:] == packed[:, :-1]) & (packed[:, 1:] > 0)).sum(axis=1)
    up, down = np.maximum(steps, 0).sum(axis=1), np.maximum(-steps, 0).sum(axis=1)
    worth: NDArray[np.int64] = EMPTY * (ranks == 0).sum(axis=1) + PAIR * pairs
    worth -= ORDER * np.minimum(up, down) + TILES * (ranks**3).sum(axis=1)
    return worth
