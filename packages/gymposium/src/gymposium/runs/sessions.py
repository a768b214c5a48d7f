"""Sessions of a training run served over HTTP: `sessions.sqlite`, with groups, sessions, turns and jobs.

The server writes each change before it answers, so a killed server loses nothing that it has acknowledged. Other
processes may read the file at the same time. A power failure may lose the newest changes, but the file stays
consistent.
"""

from __future__ import annotations

import json
import os
import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import cache
from os.path import realpath
from pathlib import Path
from threading import RLock
from types import UnionType
from typing import Any, Literal
from urllib.parse import quote

from gymposium.errors import BadRecord
from gymposium.runs.links import is_shared
from gymposium.util.plain_file import MOST_BYTES
from gymposium.util.visible import shorten

FORMAT = 4
"""Version of the tables: `PRAGMA user_version` of the file."""

SessionState = Literal["open", "ended", "dropped", "expired"]
GroupState = Literal["open", "complete", "taken", "learned", "dropped"]
JobState = Literal["waiting", "learning", "done"]

_TABLES = """
CREATE TABLE groups (
    key TEXT PRIMARY KEY, size INTEGER NOT NULL, split TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
    why TEXT NOT NULL DEFAULT '', job INTEGER
) WITHOUT ROWID;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, secret TEXT NOT NULL UNIQUE, "group" TEXT NOT NULL, member INTEGER NOT NULL,
    seed INTEGER NOT NULL, metadata TEXT NOT NULL, client TEXT NOT NULL, policy TEXT NOT NULL,
    version INTEGER NOT NULL, step INTEGER NOT NULL, began REAL NOT NULL, seen REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'open', why TEXT NOT NULL DEFAULT '', ending TEXT
) WITHOUT ROWID;
CREATE INDEX sessions_of_group ON sessions ("group", member);
CREATE INDEX sessions_in_state ON sessions (state);
CREATE TABLE turns (
    session TEXT NOT NULL, number INTEGER NOT NULL, data TEXT NOT NULL, prompt BLOB NOT NULL, ids BLOB NOT NULL,
    logprobs BLOB NOT NULL, PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, state TEXT NOT NULL DEFAULT 'waiting', step INTEGER UNIQUE,
    metrics TEXT NOT NULL DEFAULT '{}'
);
"""
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
_TYPES: Mapping[str, type | UnionType] = {
    "int": int,
    "int | None": int | None,
    "float": int | float,
    "Mapping[str, Any]": dict,
    "Mapping[str, Any] | None": dict | None,
}
"""SQLite types of row values by annotation. Values with other annotations are texts."""
_PROGRESS = 10_000
"""Number of SQLite virtual machine steps between checks of a query's cost."""
_STEPS = 1_000_000
_STEPS_PER_BYTE = 10
"""Step limit of a query: a constant, plus a number per byte of the file.

A row takes dozens of bytes, and a query takes dozens of steps per row."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session: one run of a client's agent, which is one trajectory."""

    id: str
    secret: str
    """SHA-256 digest of the secret in the session's address."""
    group: str
    member: int
    """The session's number in the group."""
    seed: int
    """Seed for the replies."""
    metadata: Mapping[str, Any]
    """Data from the client, shown to people."""
    client: str
    """The client's name (`User-Agent`)."""
    policy: str
    version: int
    """Version of the policy that answers."""
    step: int
    """Number of training steps before the answering policy was published."""
    began: float
    seen: float
    """Time of the newest request, in Unix seconds."""
    state: SessionState
    why: str
    """Why the session was dropped; empty if it was not."""
    ending: Mapping[str, Any] | None
    """Data that the client sent at the end: `reward`, `parts`, `truncated`, `turn_rewards`."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A request in a session, with its reply."""

    number: int
    data: Mapping[str, Any]
    """Messages, tools, the model's reply and the response, as plain data."""
    prompt: tuple[int, ...]
    """Token ids of the prompt after the end of the parent turn's reply."""
    ids: tuple[int, ...]
    """Sampled token ids."""
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Sessions that share a baseline."""

    key: str
    size: int
    split: str
    state: GroupState
    why: str
    """Why the group was dropped; empty if it was not."""
    job: int | None
    """The job that trains on the group."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A training step, requested or automatic."""

    id: int
    state: JobState
    step: int | None
    """The step, counted from 0, once it has begun."""
    metrics: Mapping[str, Any]


def group_turns_into_rows(parents: Mapping[int, int | None]) -> list[list[int]]:
    """Group a session's turns into token rows, given each turn's parent.

    In a row, each turn is followed by the first turn that extends its tokens. Other turns that extend it begin new
    rows."""
    following: dict[int | None, list[int]] = {}
    for number, parent in parents.items():
        following.setdefault(parent, []).append(number)
    rows: list[list[int]] = []
    begins = list(reversed(following.get(None, [])))
    while begins:
        row = [begins.pop()]
        while row[-1] in following:
            row.append(following[row[-1]][0])
        begins += (other for turn in reversed(row) for other in reversed(following.get(turn, [])[1:]))
        rows.append(row)
    return rows


@cache
def _get_expected_tables() -> list[tuple[Any, ...]]:
    """Return SQLite's description of a new file's tables. Cached, because each page of sessions opens the file."""
    with closing(sqlite3.connect(":memory:")) as expected:
        expected.executescript(_TABLES)
        return expected.execute(_SCHEMA).fetchall()


class SessionsFile:
    """The sessions file, open for reading and, unless `read_only`, for writing. It is thread-safe.

    Raises `BadRecord` for a file of another version. In a file with cyclic pages, a query raises `sqlite3.Error` or
    `BadRecord` once it costs more than the file's size justifies."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = RLock()
        self._rest = 0
        """Number of progress callbacks left for the current query."""
        found = Path(realpath(path))
        self._files = [found.with_name(f"{found.name}{end}") for end in ("", "-wal", "-shm")]
        self._check_files(read_only)
        mode = "ro" if read_only else "rwc"
        if read_only and not self._files[1].exists():
            mode += "&immutable=1"  # no process writes it, and SQLite then makes no files next to it
        try:
            self._file = sqlite3.connect(
                f"file:{quote(str(found))}?mode={mode}",
                uri=True,
                check_same_thread=False,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise self._make_error(error) from error
        try:
            version = self._prepare(read_only)
            if version != FORMAT:
                raise BadRecord(
                    f"{path} has sessions in version {version}, but this gymposium reads version {FORMAT}. Open it "
                    "with the gymposium that wrote it."
                )
            self._check_tables()
        except sqlite3.Error as error:
            self._file.close()
            raise self._make_error(error) from error
        except BadRecord:
            self._file.close()
            raise

    def _check_files(self, read_only: bool) -> None:
        """Raise `BadRecord` if SQLite would write or delete a file outside the folder."""
        journal = self._files[0].with_name(f"{self._files[0].name}-journal")
        if os.path.lexists(journal):  # SQLite deletes the file that a journal names
            raise BadRecord(f"{journal} is a rollback journal, which gymposium never writes. Remove it.")
        for file in self._files[1:] if read_only else self._files:  # the log's index is written by readers too
            if os.path.lexists(file) and (file.is_symlink() or not file.is_file() or is_shared(file)):
                raise BadRecord(f"{file} is a link or not a regular file. Replace it with a copy.")

    def _prepare(self, read_only: bool) -> int:
        """Set limits, create the tables if the file is new, and return the tables' version."""
        self._file.row_factory = sqlite3.Row
        self._file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        self._file.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._file.set_progress_handler(self._check_budget, _PROGRESS)
        self._execute("PRAGMA trusted_schema = OFF")
        version = int(self._execute("PRAGMA user_version").fetchone()[0])
        if version == 0 and not read_only:
            self._execute("PRAGMA journal_mode = MEMORY")  # a process killed here leaves no rollback journal
            self._execute("PRAGMA journal_mode = WAL")
            self._file.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")
            version = FORMAT
        if not read_only:
            self._execute("PRAGMA synchronous = NORMAL")
        return version

    def _check_tables(self) -> None:
        """Raise `BadRecord` if the file has foreign tables, or views or triggers, which would run as code."""
        ours = _get_expected_tables()
        if [tuple(row) for row in self._execute(_SCHEMA).fetchmany(len(ours) + 1)] != ours:
            raise BadRecord(f"{self.path} has tables that gymposium did not create. Restore the file from a copy.")

    def _make_error(self, error: sqlite3.Error) -> BadRecord:
        return BadRecord(f"{self.path} cannot be read as a sessions file ({error}). Restore the file from a copy.")

    def _check_budget(self) -> bool:
        self._rest -= 1
        return self._rest < 0

    def _measure_size(self) -> int:
        """Return the size of the file plus SQLite's log, in bytes."""
        return sum(file.stat().st_size for file in self._files[:2] if file.exists())

    def _execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        self._rest = (_STEPS + _STEPS_PER_BYTE * self._measure_size()) // _PROGRESS
        return self._file.execute(query, values)

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Run a transaction: the block's changes are written together, or not at all if it raises."""
        with self._lock:
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._execute("ROLLBACK")
                raise
            self._execute("COMMIT")

    def check_rows(self) -> None:
        """Raise `BadRecord` if a session, group or job has a value of the wrong type, or malformed JSON.

        SQLite allows values of any type in a column. Turns are not checked."""
        try:
            rows: list[SessionRow | GroupRow | JobRow] = [*self.sessions(), *self.groups(), *self.jobs()]
            for row in rows:
                for one in fields(row):
                    value = getattr(row, one.name)
                    if not isinstance(value, _TYPES.get(str(one.type), str)):
                        raise TypeError(f"{one.name} has the wrong type: {shorten(value)}")
        except (RecursionError, TypeError, ValueError) as error:
            raise BadRecord(f"{self.path} has a malformed row ({error}). Restore the file from a copy.") from error

    # -- reading

    def group(self, key: str) -> GroupRow | None:
        """Return the group with this key, or None."""
        return next(iter(self._list_groups("WHERE key = ?", key)), None)

    def groups(self, *, state: GroupState | None = None, job: int | None = None) -> list[GroupRow]:
        """Return the groups in this state or job, sorted by key. Without arguments, return all groups."""
        if job is not None:
            return self._list_groups("WHERE job = ? ORDER BY key", job)
        return (
            self._list_groups("ORDER BY key")
            if state is None
            else self._list_groups("WHERE state = ? ORDER BY key", state)
        )

    def session(self, name: str) -> SessionRow | None:
        """Return the session with this id, or None."""
        return next(iter(self._list_sessions("WHERE id = ?", name)), None)

    def find_by_secret(self, secret: str) -> SessionRow | None:
        """Return the session whose secret has this digest, or None."""
        return next(iter(self._list_sessions("WHERE secret = ?", secret)), None)

    def sessions(self, group: str | None = None, *, state: SessionState | None = None) -> list[SessionRow]:
        """Return a group's sessions sorted by member, or all sessions sorted by time.

        With a state, return only those in it."""
        wanted = {'"group"': group, "state": state}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in given) or "TRUE"
        order = "began, id" if group is None else "member, began, id"
        return self._list_sessions(f"WHERE {where} ORDER BY {order}", *given.values())

    def list_idle_sessions(self, since: float) -> list[SessionRow]:
        """Return the open sessions without a request since this time."""
        return self._list_sessions("WHERE state = 'open' AND seen < ? ORDER BY began, id", since)

    def count_turns(self, session: str) -> int:
        """Return the number of turns in a session."""
        return int(self._fetch_all("SELECT count(*) AS number FROM turns WHERE session = ?", [session])[0]["number"])

    def turns(self, session: str) -> list[TurnRow]:
        """Return a session's turns, in order."""
        rows = self._fetch_all("SELECT * FROM turns WHERE session = ? ORDER BY number", (session,))
        return [
            TurnRow(
                row["number"],
                json.loads(row["data"]),
                tuple(array("q", row["prompt"])),
                tuple(array("q", row["ids"])),
                tuple(array("d", row["logprobs"])),
            )
            for row in rows
        ]

    def job(self, number: int) -> JobRow | None:
        """Return the job with this number, or None."""
        return next(iter(self._list_jobs("WHERE id = ?", number)), None)

    def find_job(self, step: int) -> JobRow | None:
        """Return a step's job, or None if the step has not begun."""
        return next(iter(self._list_jobs("WHERE step = ?", step)), None)

    def jobs(self, state: JobState | None = None) -> list[JobRow]:
        """Return the jobs in this state, or all jobs for None, oldest first."""
        return (
            self._list_jobs("ORDER BY id") if state is None else self._list_jobs("WHERE state = ? ORDER BY id", state)
        )

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of sessions, groups and jobs per state."""
        with self._lock:
            return {
                table: dict(self._execute(f"SELECT state, count(*) FROM {table} GROUP BY state").fetchall())
                for table in ("sessions", "groups", "jobs")
            }

    def _list_groups(self, where: str, *values: Any) -> list[GroupRow]:
        return [GroupRow(**row) for row in self._fetch_all(f"SELECT * FROM groups {where}", values)]

    def _list_jobs(self, where: str, *values: Any) -> list[JobRow]:
        rows = self._fetch_all(f"SELECT * FROM jobs {where}", values)
        return [JobRow(**{**row, "metrics": json.loads(row["metrics"])}) for row in rows]

    def _list_sessions(self, where: str, *values: Any) -> list[SessionRow]:
        return [
            SessionRow(
                **{
                    **row,
                    "metadata": json.loads(row["metadata"]),
                    "ending": None if row["ending"] is None else json.loads(row["ending"]),
                }
            )
            for row in self._fetch_all(f"SELECT * FROM sessions {where}", values)
        ]

    def _fetch_all(self, query: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        """Return a query's rows. Raises `BadRecord` if they are larger than the file."""
        with self._lock:
            rows, most = [], self._measure_size()
            for row in self._execute(query, values):
                rows.append(dict(row))
                most -= sum(len(value) for value in row if isinstance(value, str | bytes))
                if most < 0:
                    raise BadRecord(
                        f"{self.path} is damaged: a query returned more than the file's size. Restore the file from a "
                        "copy."
                    )
            return rows

    # -- writing

    def add_group(self, key: str, size: int, split: str) -> None:
        """Add an open group."""
        self._run("INSERT INTO groups (key, size, split) VALUES (?, ?, ?)", key, size, split)

    def set_group(self, key: str, state: GroupState, *, why: str = "", job: int | None = None) -> None:
        """Change a group's state."""
        self._run("UPDATE groups SET state = ?, why = ?, job = ? WHERE key = ?", state, why, job, key)

    def add_session(self, row: SessionRow) -> None:
        """Add a session."""
        values = {name: getattr(row, name) for name in SessionRow.__slots__}
        values["metadata"], values["ending"] = json.dumps(row.metadata), None
        names = ", ".join(f'"{name}"' for name in values)
        self._run(f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(values))})", *values.values())

    def set_session(
        self, name: str, state: SessionState, *, why: str = "", ending: Mapping[str, Any] | None = None
    ) -> None:
        """Change a session's state, and store the data that the client sent at its end."""
        text = None if ending is None else json.dumps(ending)
        self._run("UPDATE sessions SET state = ?, why = ?, ending = ? WHERE id = ?", state, why, text, name)

    def add_turn(self, session: str, turn: TurnRow, seen: float) -> None:
        """Add a turn to a session. `seen` is the time of its request."""
        tokens = [array("q", turn.prompt).tobytes(), array("q", turn.ids).tobytes()]
        logprobs = array("d", turn.logprobs).tobytes()
        with self.change():
            self._run(
                "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)",
                *(session, turn.number, json.dumps(turn.data), *tokens, logprobs),
            )
            self._run("UPDATE sessions SET seen = ? WHERE id = ?", seen, session)

    def add_job(self) -> int:
        """Add a waiting job and return its number."""
        with self._lock:
            return int(self._execute("INSERT INTO jobs DEFAULT VALUES").lastrowid or 0)

    def set_job(
        self, number: int, state: JobState, *, step: int | None, metrics: Mapping[str, Any] | None = None
    ) -> None:
        """Change a job's state."""
        values = json.dumps(metrics or {})
        self._run("UPDATE jobs SET state = ?, step = ?, metrics = ? WHERE id = ?", state, step, values, number)

    def _run(self, query: str, *values: Any) -> None:
        with self._lock:
            self._execute(query, values)
