"""Checks of a statement before SQLite sees it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gymposium.util.visible import is_encodable
from gymposium_worlds.tables.sql.parts import check_uses, find_parts
from gymposium_worlds.tables.sql.refusal import QueryRefusal
from gymposium_worlds.tables.sql.tokens import AS, CLOSE, OPEN, SEMICOLON, Token, tokenize

MAX_SQL = 2_000
"""Maximum characters of a statement."""
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that passed the checks."""

    sql: str
    parts: frozenset[str]
    """Names of the parts of WITH, in lower case."""
    is_ordered: bool
    """Whether an ORDER BY outside all brackets orders the result."""


def read_statement(sql: str, names: Collection[str]) -> Statement:
    """Parse a statement for a database with these table and column names, in lower case.

    Raises `QueryRefusal` for text that cannot be one query, and for a query that depends on SQLite's build.
    """
    if len(sql) > MAX_SQL:
        raise QueryRefusal(f"The statement is longer than {MAX_SQL:,} characters.")
    if _NOT_TEXT.search(sql) or not is_encodable(sql):
        raise QueryRefusal("The statement holds characters that are not text.")
    found = tokenize(sql)
    while found and found[-1] == SEMICOLON:
        found.pop()
    if not found or found[0] not in (("word", "select"), ("word", "with"), ("word", "values")):
        raise QueryRefusal("Write a query that begins with SELECT, WITH or VALUES; nothing else is available.")
    if SEMICOLON in found:
        raise QueryRefusal("Write one statement at a time.")
    if any(token.kind == "parameter" for token in found):
        raise QueryRefusal("Parameters such as ? are not available; write the value itself.")
    parts = find_parts(found)
    _check_double_quotes(found, {*names, *parts})
    check_uses(found, parts)
    return Statement(sql, frozenset(parts), _is_ordered(found))


def _check_double_quotes(found: Sequence[Token], names: Collection[str]) -> None:
    """Refuse double-quoted text, which some builds of SQLite read as text and others as a name."""
    aliases = {after.text for before, after in pairwise(found) if before == AS}
    for token in found:
        if token.kind == "double" and token.text not in names and token.text not in aliases:
            raise QueryRefusal(f'"{token.text[:80]}" is no table or column. Write text in single quotes.')


def _is_ordered(found: Sequence[Token]) -> bool:
    depth = 0
    for token, after in pairwise(found):
        depth += (token == OPEN) - (token == CLOSE)
        if depth == 0 and token == ("word", "order") and after == ("word", "by"):
            return True
    return False
