"""Query runner whose results are the same on every replay."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from dataclasses import dataclass

from gymposium.errors import WorldFailure
from gymposium_worlds.tables.database import Database
from gymposium_worlds.tables.sql.guard import MAX_ROW_BYTES, SCHEMA, Guard
from gymposium_worlds.tables.sql.statements import QueryRefusal, read_statement

_numbers = itertools.count()


def open_database(database: Database) -> sqlite3.Connection:
    """Open a read-only connection to a new in-memory copy of the database.

    The copy exists as long as the connection. Any thread may use it, one at a time.
    """
    # a name that begins with a slash is shared by the connections of the process: one writes, the other reads
    address = f"file:/gymposium-tables-{next(_numbers)}?vfs=memdb"
    with closing(sqlite3.connect(address, uri=True)) as writing:
        for table in database.tables:
            writing.execute(table.create)
            writing.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})", table.rows)
        writing.commit()
        # no statement cache, because the authorizer must see each statement every time
        reading = sqlite3.connect(f"{address}&mode=ro", uri=True, check_same_thread=False, cached_statements=0)
        reading.execute("PRAGMA query_only = ON")
        reading.execute("PRAGMA trusted_schema = OFF")
        reading.execute("PRAGMA temp_store = MEMORY")  # queries write nothing to disk
        reading.execute("SELECT 1 FROM sqlite_master").fetchall()  # reads the schema, before limits apply to it
    reading.text_factory = _decode_text
    return reading


def _decode_text(raw: bytes) -> str:
    """Decode text that may not be UTF-8."""
    return raw.decode("utf-8", "replace")


MAX_ROWS = 1_000
"""Maximum number of rows read."""

Cell = int | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Rows:
    """A query's result."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    is_complete: bool
    """False if there are more than `MAX_ROWS` rows. Then these are the first ones."""


class QueryRunner:
    """A runner of queries on one database.

    Rows are in the order of the query's ORDER BY. Without ORDER BY, rows are sorted by their columns (NULL first, then
    numbers, text and blobs), because SQLite guarantees no order. For rows that are equal under ORDER BY, SQLite chooses
    their order and which of them LIMIT keeps. This choice is deterministic for a given version.
    """

    def __init__(self, database: Database) -> None:
        self._connection = open_database(database)
        tables = {table.name for table in database.tables}
        columns = {column.name for table in database.tables for column in table.columns}
        self._names = tables | columns | SCHEMA
        self._guard = Guard(self._connection, tables)

    def run(self, sql: str) -> Rows:
        """Run a query. Raises `QueryRefusal` if it is not allowed, is invalid or exceeds a limit, and `WorldFailure`
        after the CPU time limit."""
        statement = read_statement(sql, self._names)
        self._guard.reset(statement)
        try:
            with closing(self._connection.execute(statement.sql)) as cursor:
                columns = tuple(name for name, *_ in cursor.description)
                rows = cursor.fetchmany(MAX_ROWS + 1)
        except sqlite3.Error as error:
            raise self._explain_error(error) from error
        is_complete = len(rows) <= MAX_ROWS
        if not statement.is_ordered:
            if not is_complete:
                raise QueryRefusal(f"There are more than {MAX_ROWS:,} rows in no order. Add ORDER BY, or a condition.")
            rows.sort(key=lambda row: [_make_sort_key(cell) for cell in row])
        return Rows(columns, rows[:MAX_ROWS], is_complete)

    def close(self) -> None:
        """Close the connection, which deletes the database."""
        self._connection.close()

    def _explain_error(self, error: sqlite3.Error) -> Exception:
        guard = self._guard
        if guard.is_out_of_time and not guard.is_out_of_steps:
            return WorldFailure("A query took too long to reach its limit on steps.")
        if guard.is_out_of_steps:
            return QueryRefusal(f"The query was stopped after {guard.most_steps:,} steps. Write one that does less.")
        if guard.refusal:
            return QueryRefusal(guard.refusal)
        if "too big" in str(error):
            return QueryRefusal(f"A value, a row or a column without AS is longer than {MAX_ROW_BYTES} bytes.")
        return QueryRefusal(f"SQLite: {error}.")


def _make_sort_key(cell: Cell) -> tuple[int, int | float | str | bytes]:
    """Return a key that sorts cells as SQLite does."""
    match cell:
        case None:
            return 0, 0
        case int() | float():
            return 1, cell
        case str():
            return 2, cell
        case bytes():
            return 3, cell
