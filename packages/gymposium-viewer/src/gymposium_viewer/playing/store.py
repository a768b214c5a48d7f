"""The store of matches played in the viewer. It limits their number and records them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from gymposium.errors import GymposiumError
from gymposium.match import MatchResult
from gymposium.records import RecordWriter
from gymposium.runs.links import escapes_directory
from gymposium_viewer.playing.choice import MatchChoice
from gymposium_viewer.playing.table import BrowserTable, PlayerPool

FILE = Path("played/matches.jsonl")
"""Path of the record file below the viewed folder."""
MAX_OPEN = 16
"""Maximum number of simultaneous matches."""
MAX_STORED = 64
"""Maximum number of matches in the store, including finished ones that can still be opened."""
IDLE_SECONDS = 3600.0
"""Number of seconds without a request before a match is dropped."""
MAX_REMEMBERED = 1000
"""Maximum number of dropped matches whose reason is remembered."""

DropReason = Literal["left", "idle", "replaced", "over"]
"""Why a match was dropped: the person left, it had no requests for `IDLE_SECONDS`, another match needed its place, or
it ended and its page expired."""


@dataclass(frozen=True, slots=True)
class DroppedMatch:
    """A match that was dropped and can no longer be opened."""

    choice: MatchChoice
    reason: DropReason


@dataclass(slots=True)
class _Entry:
    table: BrowserTable
    last_request: float
    requests: int = 0
    """Number of requests being answered for the match."""

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered or a player is thinking."""
        return self.requests > 0 or self.table.state.is_waiting


class MatchStore:
    """The matches played in the browser, by id."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory, self._file, self._clock = directory, directory / FILE, clock
        self._pool = PlayerPool()
        self._lock, self._writing = Lock(), Lock()
        self._entries: dict[str, _Entry] = {}
        self._dropped: dict[str, DroppedMatch] = {}

    def begin(self, choice: MatchChoice) -> BrowserTable:
        """Start a match.

        If too many are in progress, drop the match whose last request is the oldest. A busy match is dropped only if
        all are busy."""
        with self._lock:
            self._drop_idle()
            while len(under_way := self._list_open_entries()) >= MAX_OPEN:
                self._drop(min(under_way, key=lambda entry: (entry.is_busy, entry.last_request)).table.id, "replaced")
            over = [key for key, entry in self._entries.items() if entry.table.state.is_settled]
            for key in over[: max(0, len(self._entries) - MAX_STORED + 1)]:
                self._drop(key, "over")
            table = BrowserTable(choice, self._pool, self._record)
            self._entries[table.id] = _Entry(table, self._clock())
            return table

    @contextmanager
    def hold(self, key: str) -> Iterator[BrowserTable | DroppedMatch | None]:
        """Yield the match with this id, and mark it as busy during the block. Yields None if the id is unknown."""
        with self._lock:
            self._drop_idle()
            entry = self._entries.get(key)
            if entry is not None:
                entry.last_request = self._clock()
                entry.requests += 1
        if entry is None:
            yield self._dropped.get(key)
            return
        try:
            yield entry.table
        finally:
            with self._lock:
                entry.requests -= 1

    def leave(self, key: str) -> None:
        """Drop the match with this id, because the person has left it."""
        with self._lock:
            if key in self._entries:
                self._drop(key, "left")

    def list_open(self) -> list[BrowserTable]:
        """Return the matches in progress, newest first."""
        with self._lock:
            self._drop_idle()
            return [entry.table for entry in reversed(self._list_open_entries())]

    def _list_open_entries(self) -> list[_Entry]:
        return [entry for entry in self._entries.values() if not entry.table.state.is_settled]

    def _drop_idle(self) -> None:
        long_ago = self._clock() - IDLE_SECONDS
        for key in [k for k, entry in self._entries.items() if entry.last_request < long_ago and not entry.requests]:
            self._drop(key, "over" if self._entries[key].table.state.end else "idle")

    def _drop(self, key: str, why: DropReason) -> None:
        table = self._entries.pop(key).table
        table.leave()
        self._dropped = dict([*self._dropped.items()][1 - MAX_REMEMBERED :]) | {key: DroppedMatch(table.choice, why)}

    def _record(self, played: MatchResult) -> str:
        if escapes_directory(self._file, self._directory):
            return f"It could not be recorded: {FILE} leaves the folder through a symbolic link."
        try:
            with self._writing, RecordWriter(self._file, wait=True) as writer:
                writer.write(played)
        except (OSError, GymposiumError) as error:
            return f"It could not be recorded in {FILE} ({getattr(error, 'strerror', None) or error})."
        return ""
