"""Reading the sessions file for display: bounded lists, clients, and prompt beginnings."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from gymposium.errors import BadRecord
from gymposium.runs.sessions import GroupRow, JobRow, SessionRow, SessionsFile
from gymposium.util.visible import shorten, visible

_OVERLAP = 60.0
"""Number of seconds of sessions to count again, because the clock may be set back."""

_LONGEST = 1000
"""Number of characters of group and client names to compare. Servers write at most 200."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as shown in a list."""

    row: SessionRow
    turns: int


@dataclass(frozen=True, slots=True)
class Client:
    """The sessions of clients with this name."""

    name: str
    sessions: int
    open: int
    seen: float
    """Time of the newest request, in Unix seconds."""


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group as shown in a list."""

    row: GroupRow
    ended: int
    """Number of finished sessions in the group."""
    rewards: Sequence[float]
    """Rewards of the finished sessions, by member."""


class SessionsReader(SessionsFile):
    """The sessions file, open for reading. Texts are compared in the form shown on pages (`visible`)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        self._file.create_function("visible", 1, _normalize_name, deterministic=True)

    def list_newest(
        self, *, state: str = "", group: str = "", client: str = "", most: int = 1000
    ) -> tuple[list[SessionSummary], int]:
        """Return at most `most` sessions with this state, group and client, newest first, and their total number.

        An empty text matches every value."""
        wanted = {"state": state, '"group"': group, "client": client}
        wanted = {name: visible(value) for name, value in wanted.items() if value}
        where = " AND ".join(f"visible({name}) = ?" for name in wanted) or "TRUE"
        values = [*wanted.values()]
        rows = self._list_sessions(f"WHERE {where} ORDER BY began DESC, id LIMIT ?", *values, most)
        found = self._fetch_all(f"SELECT count(*) AS number FROM sessions WHERE {where}", values)
        return [SessionSummary(row, self.count_turns(row.id)) for row in rows], found[0]["number"]

    def clients(self, most: int) -> list[Client]:
        """Return at most `most` clients, the most recently seen first."""
        query = """SELECT client AS name, count(*) AS sessions, sum(state = 'open') AS open, max(seen) AS seen
            FROM sessions GROUP BY client ORDER BY max(seen) DESC, client LIMIT ?"""
        return [Client(**row) for row in self._fetch_all(query, [most])]

    def queue(self, most: int) -> list[GroupSummary]:
        """Return at most `most` complete groups that wait for training."""
        return [
            self.summarize_group(row)
            for row in self._list_groups("WHERE state = 'complete' ORDER BY key LIMIT ?", most)
        ]

    def summarize_group(self, row: GroupRow) -> GroupSummary:
        """Return a group with its finished sessions."""
        endings = [one.ending for one in self.sessions(group=row.key) if one.ending is not None]
        return GroupSummary(row, len(endings), [float(ending["reward"]) for ending in endings])

    def newest_jobs(self, most: int) -> list[JobRow]:
        """Return at most `most` jobs, newest first."""
        return self._list_jobs("ORDER BY id DESC LIMIT ?", most)

    def count_groups_per_job(self) -> dict[int, int]:
        """Return the number of groups per job."""
        rows = self._fetch_all("SELECT job, count(*) AS number FROM groups WHERE job IS NOT NULL GROUP BY job", ())
        return {row["job"]: row["number"] for row in rows}

    def count_beginnings(self, since: float) -> dict[str, Counter[str]]:
        """Count each prompt beginning once per session, for sessions with a request since this time."""
        query = """SELECT session, json_extract(data, '$.beginning') AS way, count(*) AS number
            FROM turns JOIN sessions ON sessions.id = turns.session WHERE seen >= ? GROUP BY session, way"""
        found: dict[str, Counter[str]] = {}
        for row in self._fetch_all(query, [since]):
            found.setdefault(row["session"], Counter())[str(row["way"])] = row["number"]
        return found

    def find_oldest_id(self) -> str:
        """Return the id of the first session, or "" without sessions."""
        found = self._fetch_all("SELECT id FROM sessions ORDER BY began, id LIMIT 1", ())
        return str(found[0]["id"]) if found else ""

    def find_last_seen(self) -> float:
        """Return the time of the newest request in any session, or 0 without sessions."""
        return float(self._fetch_all("SELECT coalesce(max(seen), 0) AS seen FROM sessions", ())[0]["seen"])


def _normalize_name(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError(f"the name {shorten(value)} must be text of at most {_LONGEST} characters")
    return visible(value)


@contextmanager
def open_sessions(path: Path) -> Iterator[SessionsReader]:
    """Open the sessions file for reading during the block.

    Raises `BadRecord` if it is not a sessions file, or if the block finds malformed values in it."""
    if not path.is_file():
        raise BadRecord(f"{path} is not a file. Name the sessions file of a run.")
    file = SessionsReader(path)
    try:
        yield file
    except (
        sqlite3.Error,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise BadRecord(
            f"{path} is not in this version's format ({type(error).__name__}: {error}). Restore the file from a copy."
        ) from error
    finally:
        file.close()


def get_file_stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes with each write to the sessions file or SQLite's log."""
    found: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            stat = file.stat()
        except OSError:
            found.append(0)
        else:
            found += (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return tuple(found)


@dataclass(slots=True)
class BeginningCounts:
    """Counts of prompt beginnings in a sessions file. Each refresh reads only new data."""

    _of: dict[str, Counter[str]] = field(default_factory=dict)
    _total: Counter[str] = field(default_factory=Counter)
    _oldest: str = ""
    _until: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def refresh(self, file: SessionsReader) -> dict[str, int]:
        """Return the counts so far."""
        with self._lock:
            if (oldest := file.find_oldest_id()) != self._oldest:  # a different sessions file
                self._of, self._total, self._oldest, self._until = {}, Counter(), oldest, 0.0
            until = file.find_last_seen()
            for session, counted in file.count_beginnings(self._until - _OVERLAP).items():
                self._total.subtract(self._of.get(session, Counter()))
                self._total.update(counted)
                self._of[session] = counted
            self._until = until
            return dict(self._total)
