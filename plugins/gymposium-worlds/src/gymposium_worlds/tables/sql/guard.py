"""What a query may do, and how much of it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection

from gymposium_worlds.tables.sql.statements import Statement

STEPS = 500_000
"""Most steps of SQLite's virtual machine in a query. The number of steps follows from the statement, the database and
the version of SQLite alone, so a query that is stopped is stopped on every replay. It bounds time and memory, because
every row that is kept for sorting or joining takes steps."""
LIKE_STEPS = 50_000
"""Most steps of a query with LIKE, whose steps take much longer than others."""
SECONDS = 10.0
"""Processor time after which a query is given up, far more than its steps take. The match is dropped then."""
ROW_BYTES = 400
"""Most bytes of a value, and of a row that is kept for sorting or joining."""

_EVERY = 1_000
"""Steps from one call of the progress handler to the next."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: ROW_BYTES,
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
"""Functions that are in every build of SQLite, cheap, and give the same result every time. Left out are those that
depend on the time or on chance, on the order in which rows are read (`group_concat`), on the build, and those that make
or search long text quickly (`printf`, `zeroblob`, `glob`, `trim`)."""
SCHEMA = frozenset({"sqlite_master", "sqlite_schema"})
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}


class Guard:
    """The authorizer and the progress handler of a connection, which runs one query at a time."""

    def __init__(self, connection: sqlite3.Connection, tables: Collection[str]) -> None:
        """Put the limits into force. `tables` holds the names of the tables that may be read, in lower case."""
        self._tables = SCHEMA | set(tables)
        self._parts: frozenset[str] = frozenset()
        self._calls, self._deadline = 0, 0.0
        self.most_steps = STEPS
        self.refusal = ""
        """Why the query was not allowed, or empty."""
        self.is_out_of_steps = False
        self.is_out_of_time = False
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._count, _EVERY)

    def begin(self, statement: Statement) -> None:
        """Get ready for a query."""
        self._parts = statement.parts
        self._calls, self._deadline = 0, time.thread_time() + SECONDS
        self.most_steps, self.refusal = STEPS, ""
        self.is_out_of_steps = self.is_out_of_time = False

    def _authorize(self, action: int, first: str | None, second: str | None, *where: str | None) -> int:
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second is not None:
            if second.lower() == "like":
                self.most_steps = LIKE_STEPS
            if second.lower() in FUNCTIONS:
                return sqlite3.SQLITE_OK
            self.refusal = self.refusal or f"The function {second} is not available."
        elif action == sqlite3.SQLITE_READ and first is not None:
            # a part of WITH is reported without a column if none of its columns is read
            if first.lower() in self._tables or (second == "" and first.lower() in self._parts):
                return sqlite3.SQLITE_OK
            self.refusal = self.refusal or f"The table {first} is not available."
        else:
            self.refusal = self.refusal or "Only the tables of the database can be read; nothing else is available."
        return sqlite3.SQLITE_DENY

    def _count(self) -> bool:
        """Return True if the query must stop."""
        self._calls += 1
        self.is_out_of_steps = self._calls * _EVERY >= self.most_steps
        self.is_out_of_time = time.thread_time() > self._deadline
        return self.is_out_of_steps or self.is_out_of_time
