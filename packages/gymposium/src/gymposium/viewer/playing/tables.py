"""All matches that people play in the viewer: how many there may be, when they end by themselves, where they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from gymposium.driver import MatchResult
from gymposium.errors import GymposiumError
from gymposium.records import RecordWriter
from gymposium.runs.links import leads_out
from gymposium.viewer.playing.bench import Bench
from gymposium.viewer.playing.choice import Choice
from gymposium.viewer.playing.table import BrowserTable

FILE = Path("played/matches.jsonl")
"""Where matches are recorded, below the directory that is viewed."""
MOST = 16
"""Matches that may be under way at once."""
KEPT = 64
"""Matches in all, those included that have ended and can still be looked at."""
IDLE = 3600.0
"""Seconds after which a match that nobody looks at is given up."""
REMEMBERED = 1000
"""Matches that are gone and of which it is still known why."""

Why = Literal["left", "idle", "made room", "over"]
"""Why a match is gone: it was left; nobody looked at it; another took its place; it is over, and many came since."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A match that cannot be looked at any more."""

    choice: Choice
    why: Why


@dataclass(slots=True)
class _Seated:
    table: BrowserTable
    looked_at: float
    requests: int = 0
    """Those that are being answered."""

    @property
    def busy(self) -> bool:
        """Whether a request or another player is at work."""
        return self.requests > 0 or self.table.standing.waits


class Tables:
    """The matches, by id."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory, self._file, self._clock = directory, directory / FILE, clock
        self._bench = Bench()
        self._lock, self._writing = Lock(), Lock()
        self._seated: dict[str, _Seated] = {}
        self._gone: dict[str, Gone] = {}

    def begin(self, choice: Choice) -> BrowserTable:
        """A new match. Where there are too many, the one that was looked at longest ago makes room: one at which
        nobody is at work just now, if there is such a one."""
        with self._lock:
            self._clear()
            while len(under_way := self._under_way()) >= MOST:
                self._drop(min(under_way, key=lambda one: (one.busy, one.looked_at)).table.id, "made room")
            over = [key for key, one in self._seated.items() if one.table.standing.state in ("over", "failed")]
            for key in over[: max(0, len(self._seated) - KEPT + 1)]:
                self._drop(key, "over")
            table = BrowserTable(choice, self._bench, self._record)
            self._seated[table.id] = _Seated(table, self._clock())
            return table

    @contextmanager
    def look(self, key: str) -> Iterator[BrowserTable | Gone | None]:
        """The match with this id, at which a request is at work meanwhile; None where nothing is known of it."""
        with self._lock:
            self._clear()
            seated = self._seated.get(key)
            if seated is not None:
                seated.looked_at = self._clock()
                seated.requests += 1
        if seated is None:
            yield self._gone.get(key)
            return
        try:
            yield seated.table
        finally:
            with self._lock:
                seated.requests -= 1

    def leave(self, key: str) -> None:
        """Give a match up."""
        with self._lock:
            if key in self._seated:
                self._drop(key, "left")

    def under_way(self) -> list[BrowserTable]:
        """Those that can be played on, the latest first."""
        with self._lock:
            self._clear()
            return [one.table for one in reversed(self._under_way())]

    def _under_way(self) -> list[_Seated]:
        return [one for one in self._seated.values() if one.table.standing.state not in ("over", "failed")]

    def _clear(self) -> None:
        long_ago = self._clock() - IDLE
        for key in [key for key, one in self._seated.items() if one.looked_at < long_ago and not one.requests]:
            self._drop(key, "over" if self._seated[key].table.standing.ended else "idle")

    def _drop(self, key: str, why: Why) -> None:
        table = self._seated.pop(key).table
        table.leave()
        self._gone = dict([*self._gone.items()][1 - REMEMBERED :]) | {key: Gone(table.choice, why)}

    def _record(self, played: MatchResult) -> str:
        if leads_out(self._file, self._directory):
            return f"It could not be recorded: {FILE} is, by a symbolic link, outside of the directory that is viewed."
        try:
            with self._writing, RecordWriter(self._file, wait=True) as writer:
                writer.write(played)
        except (OSError, GymposiumError) as error:
            return f"It could not be recorded in {FILE} ({getattr(error, 'strerror', None) or error})."
        return ""
