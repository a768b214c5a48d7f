"""Opening a generated database in SQLite, read-only."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing

from gymposium_worlds.tables.database import Database

_numbers = itertools.count()


def open_database(database: Database) -> sqlite3.Connection:
    """Open a read-only connection to a new in-memory copy of the database.

    The copy lives as long as the connection. Any thread may use it, one at a time.
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
