"""All matches that people play in the viewer: how many there may be, when they end by themselves, where they go."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from gymposium.driver import Played
from gymposium.errors import BadOption, GymposiumError
from gymposium.records import RecordWriter
from gymposium.runs.links import leads_out
from gymposium.viewer.playing.bench import Bench
from gymposium.viewer.playing.choice import Choice
from gymposium.viewer.playing.table import Table

FILE = Path("played/matches.jsonl")
"""Where matches are recorded, below the directory that is viewed."""
MOST = 16
"""Matches that may be under way at once."""
KEPT = 64
"""Matches in all, those included that have ended and can still be looked at."""
IDLE = 3600.0
"""Seconds after which a match that nobody looks at is given up."""


@dataclass(slots=True)
class _Seated:
    table: Table
    looked_at: float


class Tables:
    """The matches, by id."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory, self._file, self._clock = directory, directory / FILE, clock
        self._bench = Bench()
        self._lock, self._writing = Lock(), Lock()
        self._seated: dict[str, _Seated] = {}

    def begin(self, choice: Choice) -> Table:
        """A new match. Raises `BadOption` where there are too many."""
        with self._lock:
            self._clear()
            if len(self._under_way()) >= MOST:
                raise BadOption(
                    f"{MOST} matches are under way here, which is the most: play one to its end, or leave it."
                )
            over = [key for key, one in self._seated.items() if one.table.standing.ended is not None]
            for key in over[: max(0, len(self._seated) - KEPT + 1)]:
                del self._seated[key]
            table = Table(choice, self._bench, self._record)
            self._seated[table.id] = _Seated(table, self._clock())
            return table

    def get(self, key: str) -> Table | None:
        """The match with this id, which somebody looks at; None where there is none any more."""
        with self._lock:
            self._clear()
            seated = self._seated.get(key)
            if seated is None:
                return None
            seated.looked_at = self._clock()
            return seated.table

    def leave(self, key: str) -> None:
        """Give a match up."""
        with self._lock:
            seated = self._seated.pop(key, None)
        if seated is not None:
            seated.table.leave()

    def under_way(self) -> list[Table]:
        """Those that can be played on, the latest first."""
        with self._lock:
            self._clear()
            return [one.table for one in reversed(self._under_way())]

    def _under_way(self) -> list[_Seated]:
        return [one for one in self._seated.values() if one.table.standing.state not in ("over", "failed")]

    def _clear(self) -> None:
        long_ago = self._clock() - IDLE
        for key in [key for key, one in self._seated.items() if one.looked_at < long_ago]:
            self._seated.pop(key).table.leave()

    def _record(self, played: Played) -> str:
        if leads_out(self._file, self._directory):
            return f"It could not be recorded: {FILE} is, by a symbolic link, outside of the directory that is viewed."
        try:
            with self._writing, RecordWriter(self._file, wait=True) as writer:
                writer.write(played)
        except (OSError, GymposiumError) as error:
            return f"It could not be recorded in {FILE} ({getattr(error, 'strerror', None) or error})."
        return ""
