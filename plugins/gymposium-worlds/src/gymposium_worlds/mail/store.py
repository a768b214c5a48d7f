"""Mails in a temporary SQLite database with a full-text index, read-only once filled.

Search results are the same on every SQLite build with FTS5. This module splits and folds words itself, and orders mails
by time, not by SQLite's rank.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gymposium_worlds.mail.message import Mail, parse_address

_WORD = re.compile(r"[^\W_]+")


def split_words(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters and digits, in lower case, without accents.

    Python's Unicode tables determine what a letter is, not SQLite's.
    """
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.casefold())
        text = "".join([one for one in parts if not unicodedata.combining(one)])
    return _WORD.findall(text.casefold())


_TABLES = """
CREATE TABLE mail (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sent TEXT NOT NULL, sender TEXT NOT NULL,
    recipients TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(subject, body, sender, recipients, content='', tokenize='ascii');
"""


@dataclass(frozen=True, slots=True)
class Query:
    """Search criteria. An email must match all of them."""

    keywords: Sequence[Sequence[str]] = ()
    """A phrase of consecutive words in the subject or the body."""
    sender: Sequence[str] = ()
    """A phrase of consecutive words in the sender's name and address."""
    recipient: Sequence[str] = ()
    sent_from: str = ""
    """A day such as `2024-03-05`, for mails sent on this day or later."""
    sent_before: str = ""
    """A day, for mails sent before it."""

    def to_sql(self, limit: int) -> tuple[str, list[str | int]]:
        """Return the statement that finds at most `limit` ids, and its values."""
        match = [f"{{subject body}} : {_quote_phrase(words)}" for words in self.keywords]
        match += [f"sender : {_quote_phrase(self.sender)}"] if self.sender else []
        match += [f"recipients : {_quote_phrase(self.recipient)}"] if self.recipient else []
        tables = "words CROSS JOIN mail ON mail.number = words.rowid" if match else "mail"
        order = "words.rowid" if match else "mail.number"  # order by the first table, to read no more than `limit` rows
        tests: dict[str, str] = {}
        if match:
            tests["words MATCH ?"] = " AND ".join(match)
        if self.sent_from:
            tests["sent >= ?"] = self.sent_from
        if self.sent_before:
            tests["sent < ?"] = self.sent_before
        where = f"WHERE {' AND '.join(tests)}" if tests else ""
        shown = "id, sent, mail.sender, mail.subject"
        return f"SELECT {shown} FROM {tables} {where} ORDER BY {order} DESC LIMIT ?", [*tests.values(), limit]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One mail in a search result."""

    id: str
    sent: str
    address: str
    """Address of the sender."""
    subject: str


class Store:
    """Mails of one mailbox.

    SQLite keeps them in memory, or in an unnamed file if there are many, so no file remains when the process ends.
    """

    def __init__(self, mails: Iterable[Mail]) -> None:
        """Create the database. Raises `ValueError` if two mails have the same id."""
        self._lock = threading.Lock()
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        try:
            fill_database(self._connection, mails)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"two mails have the same id ({error})") from error
        self._connection.execute("PRAGMA query_only = ON")

    def search(self, query: Query, limit: int) -> list[SearchResult]:
        """Return the mails that match a query, latest first, at most `limit`."""
        rows = self._fetch_rows(*query.to_sql(limit))
        return [SearchResult(row[0], row[1], parse_address(row[2]), row[3]) for row in rows]

    def read(self, message_id: str) -> Mail | None:
        """Return the mail with this id, or None."""
        rows = self._fetch_rows(
            "SELECT id, sent, sender, recipients, subject, body FROM mail WHERE id = ?", [message_id]
        )
        return Mail(*rows[0]) if rows else None

    def get_span(self) -> tuple[int, str, str]:
        """Return the number of mails, and the dates of the first and the last mail."""
        [(count, first, last)] = self._fetch_rows("SELECT count(*), min(sent), max(sent) FROM mail", [])
        return int(count), first, last

    def _fetch_rows(self, statement: str, values: Sequence[str | int]) -> list[tuple[str, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()


def _quote_phrase(words: Sequence[str]) -> str:
    """Return the words as an FTS5 phrase. They contain only letters and digits, so nothing needs escaping."""
    return f'"{" ".join(words)}"'


def fill_database(connection: sqlite3.Connection, mails: Iterable[Mail]) -> None:
    """Fill an empty database with mails and their index. The connection must be in autocommit mode."""
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;" + _TABLES)
    rows = [
        (number, mail.id, mail.sent, mail.sender, mail.recipients, mail.subject, mail.body)
        for number, mail in enumerate(sorted(mails, key=lambda mail: (mail.sent, mail.id)), start=1)
    ]
    connection.executemany("INSERT INTO mail VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    indexed = [
        (n, *(" ".join(split_words(text)) for text in (subject, body, sender, recipients)))
        for n, _, _, sender, recipients, subject, body in rows
    ]
    connection.executemany(
        "INSERT INTO words (rowid, subject, body, sender, recipients) VALUES (?, ?, ?, ?, ?)", indexed
    )
    connection.execute("COMMIT")
