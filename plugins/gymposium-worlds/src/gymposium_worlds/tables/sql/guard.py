"""Limits on what a query may access, and on its steps and time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection

from gymposium_worlds.tables.sql.statements import Statement

MAX_STEPS = 500_000
"""Maximum number of steps of SQLite's virtual machine per query. The statement, the database and SQLite's version
determine the number of steps, so a stopped query is stopped in every replay. The limit bounds time and memory, because
every row kept for sorting or joining takes steps."""
MAX_LIKE_STEPS = 50_000
"""Maximum number of steps of a query with LIKE. Its steps take much longer."""
MAX_SECONDS = 10.0
"""CPU time limit of a query, far above what its steps take. If a query exceeds it, the match is dropped."""
MAX_ROW_BYTES = 400
"""Maximum number of bytes in a value, and in a row kept for sorting or joining."""

_EVERY = 1_000
"""Number of steps between calls of the progress handler."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_ROW_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,  # in bytes; characters are limited before
    sqlite3.SQLITE_LIMIT_COLUMN: 30,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 20_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 30,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
FUNCTIONS = frozenset(
    "abs avg coalesce count dense_rank first_value ifnull iif instr lag last_value lead length like lower max min "
    "nth_value ntile nullif rank replace round row_number substr substring sum total typeof upper".split()
)
"""Functions that are cheap, deterministic, and available in every build of SQLite. Functions that depend on time,
chance, the build or the row order (`group_concat`) are omitted. So are functions that create or search long text in a
single step (`printf`, `zeroblob`, `glob`, `trim`)."""
SCHEMA = frozenset({"sqlite_master", "sqlite_schema"})
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}


class Guard:
    """The authorizer and progress handler of a connection that runs one query at a time."""

    def __init__(self, connection: sqlite3.Connection, tables: Collection[str]) -> None:
        """Install the limits. `tables` holds the lower-case names of readable tables."""
        self._tables = SCHEMA | set(tables)
        self._parts: frozenset[str] = frozenset()
        self._calls, self._deadline = 0, 0.0
        self.most_steps = MAX_STEPS
        self.refusal = ""
        """The reason why the query was not allowed; empty if it was."""
        self.is_out_of_steps = False
        self.is_out_of_time = False
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._count_steps, _EVERY)

    def reset(self, statement: Statement) -> None:
        """Reset the limits before a query."""
        self._parts = statement.parts
        self._calls, self._deadline = 0, time.thread_time() + MAX_SECONDS
        self.most_steps, self.refusal = MAX_STEPS, ""
        self.is_out_of_steps = self.is_out_of_time = False

    def _authorize(self, action: int, first: str | None, second: str | None, *where: str | None) -> int:
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second is not None:
            if second.lower() == "like":
                self.most_steps = MAX_LIKE_STEPS
            if second.lower() in FUNCTIONS:
                return sqlite3.SQLITE_OK
            self.refusal = self.refusal or f"The function {second} is not available."
        elif action == sqlite3.SQLITE_READ and first is not None:
            # SQLite reports a part of WITH without a column if the query reads none of its columns
            if first.lower() in self._tables or (second == "" and first.lower() in self._parts):
                return sqlite3.SQLITE_OK
            self.refusal = self.refusal or f"The table {first} is not available."
        else:
            self.refusal = self.refusal or "Only the tables of the database can be read; nothing else is available."
        return sqlite3.SQLITE_DENY

    def _count_steps(self) -> bool:
        """Count steps, and return whether the query must stop."""
        self._calls += 1
        self.is_out_of_steps = self._calls * _EVERY >= self.most_steps
        self.is_out_of_time = time.thread_time() > self._deadline
        return self.is_out_of_steps or self.is_out_of_time
