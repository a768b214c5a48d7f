"""Compare an entry's `exact.json` with recomputed figures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gymposium.errors import BadRecord
from gymposium.games.registry import load_game
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
from gymposium_arena.exact_file import exact_path, read_exact
from gymposium_arena.results.model import Measured
from gymposium_arena.verify.files import check_plain
from gymposium_arena.verify.findings import Finding
from gymposium_arena.verify.player_pool import PlayerPool
from gymposium_arena.yardsticks import measure_player

_ROUNDING = 1e-3
"""Tolerance for rounding of open-weight models on another machine."""


def check_exact(board: Board, entry: Entry, pool: PlayerPool) -> tuple[bool, list[Finding]]:
    """Recompute the figures in an entry's `exact.json`. Returns whether that was possible, and the findings."""
    where = str(exact_path(board, entry).relative_to(board.path))
    try:
        check_plain(exact_path(board, entry))
        stored = read_exact(board, entry)
    except BadRecord as error:
        return False, [Finding("results", where, str(error))]
    if strange := [name for name in stored if name not in entry.games]:
        return False, [Finding("results", where, f"it has figures of {strange[0]}, which {entry.player} does not play")]
    player = pool.seat(entry, asked=True).player
    if player is None:
        return False, []
    return True, [
        Finding("results", where, f"in {name}, {what}")
        for name, figures in stored.items()
        for what in _compare_figures(entry, figures, measure_player(load_game(name), player))
    ]


def _compare_figures(entry: Entry, stored: Measured, again: Measured | None) -> Iterator[str]:
    if again is None:
        yield "it has figures, but the player cannot be measured in this game"
        return
    rounding = 0.0 if entry.repeats == "quickly" else _ROUNDING
    for name, value in stored.model_dump().items():
        now = getattr(again, name)
        floats = isinstance(value, float) and isinstance(now, float)
        if value != now and not (floats and math.isclose(value, now, rel_tol=0.0, abs_tol=rounding)):
            yield f"{name} is {value}, but a new measurement gives {now}"
