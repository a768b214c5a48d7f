"""`exact.json` beside an entry against the figures that traversal gives now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.exact_file import exact_path, read_exact
from gymposium.arena.results.model import Measured
from gymposium.arena.verify.files import read_plain
from gymposium.arena.verify.findings import Finding
from gymposium.arena.verify.player_pool import PlayerPool
from gymposium.arena.yardsticks import measured_in
from gymposium.errors import BadRecord
from gymposium.games.registry import load_game

_ROUNDING = 1e-3
"""By so much the figures of open weights may differ on another machine."""


def check_exact(board: Board, entry: Entry, pool: PlayerPool) -> tuple[bool, list[Finding]]:
    """Whether the player's figures could be measured again, and what differs. Nothing is measured that has no file."""
    where = str(exact_path(board, entry).relative_to(board.path))
    try:
        read_plain(exact_path(board, entry))
        there = read_exact(board, entry)
    except BadRecord as error:
        return False, [Finding("results", where, str(error))]
    if strange := [name for name in there if name not in entry.games]:
        return False, [Finding("results", where, f"it has figures of {strange[0]}, which {entry.player} does not play")]
    player = pool.seat(entry, asked=True).player
    if player is None:
        return False, []
    findings = []
    for name, figures in there.items():
        again = measured_in(load_game(name), player)
        findings += [Finding("results", where, f"in {name}, {what}") for what in _differences(entry, figures, again)]
    return True, findings


def _differences(entry: Entry, there: Measured, again: Measured | None) -> Iterator[str]:
    if again is None:
        yield "it has figures, but the player cannot be measured there"
        return
    for name, value in there.model_dump().items():
        now = getattr(again, name)
        if not _same(value, now, 0.0 if entry.repeats == "quickly" else _ROUNDING):
            yield f"{name} is {value}, but measured again it is {now}"


def _same(value: Any, now: Any, rounding: float) -> bool:
    if isinstance(value, float) and isinstance(now, float):
        return math.isclose(value, now, rel_tol=0.0, abs_tol=rounding)
    return bool(value == now)
