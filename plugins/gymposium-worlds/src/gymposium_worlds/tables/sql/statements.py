"""Checks of a statement before it is passed to SQLite: tokens, common table expressions (WITH), and text in double
quotes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from gymposium.errors import GymposiumError
from gymposium.util.visible import is_encodable


class QueryRefusal(GymposiumError):
    """A rejected or stopped query. The message tells the player why."""


TokenKind = Literal["text", "double", "name", "parameter", "number", "word", "sign"]

_TOKENS = re.compile(
    r"""(?P<space>[ \t\n\r]+|--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<blob>[xX]'[^']*')
      | (?P<text>'(?:[^']|'')*')
      | (?P<double>"(?:[^"]|"")*")
      | (?P<name>`(?:[^`]|``)*`|\[[^\]]*\])
      | (?P<parameter>\?[0-9]*|[:@$\#][\w$]+)
      | (?P<number>[0-9][\w.]*|\.[0-9]\w*)
      | (?P<word>[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f](?:[\w$]|[^\x00-\x7f])*)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token. `text` is in lower case, without quotes around text or names."""

    kind: TokenKind
    text: str


OPEN, CLOSE, COMMA, POINT, SEMICOLON = (Token("sign", sign) for sign in "(),.;")
AS = Token("word", "as")


def tokenize(sql: str) -> list[Token]:
    """Return the tokens of a statement, without spaces and comments. Accepts any text, because SQLite reports
    errors."""
    found = []
    for match in _TOKENS.finditer(sql):
        text = match[0].lower()
        match match.lastgroup:
            case "space":
                pass
            case "text":
                found.append(Token("text", text[1:-1].replace("''", "'")))
            case "double":
                found.append(Token("double", text[1:-1].replace('""', '"')))
            case "name":
                found.append(Token("name", text[1:-1].replace("``", "`")))
            case "parameter":
                found.append(Token("parameter", text))
            case "word":
                found.append(Token("word", text))
            case "number" | "blob":
                found.append(Token("number", text))
            case _:
                found.append(Token("sign", text))
    return found


MAX_USES = 100
"""Maximum number of times that common table expressions are expanded, in total."""
_BEFORE_TABLES = {COMMA, OPEN, Token("word", "from"), Token("word", "join"), Token("word", "in")}
"""Tokens that may precede a table name."""


def find_parts(found: Sequence[Token]) -> dict[str, range]:
    """Return the token range of each common table expression's query, by name. Raises `QueryRefusal` for a duplicate
    name."""
    parts: dict[str, range] = {}
    for n, token in enumerate(found):
        start = n + 1
        while start < len(found) and found[start] in (("word", "not"), ("word", "materialized")):
            start += 1
        if token != AS or n == 0 or found[start : start + 1] != [OPEN]:
            continue
        place = n - 1
        if found[place] == CLOSE:  # after the names of columns
            while place > 1 and found[place] != OPEN:
                place -= 1
            place -= 1
        name = found[place].text
        if name in parts:
            raise QueryRefusal(f"Two parts of WITH are called {name}; give each a name of its own.")
        parts[name] = range(start, _find_closing(found, start))
    return parts


def check_uses(found: Sequence[Token], parts: dict[str, range]) -> None:
    """Raise `QueryRefusal` if common table expressions would be expanded too often."""
    known: dict[str, int] = {}

    def count_copies(places: range, inside: tuple[str, ...]) -> int:
        total = 0
        for n in places:
            name = found[n].text
            if name in parts and n > 0 and found[n - 1] in _BEFORE_TABLES and found[n + 1 : n + 2] != [POINT]:
                if name in inside[:-1]:
                    return MAX_USES + 1  # two parts that use each other
                if name not in inside and name not in known:
                    known[name] = 1 + count_copies(parts[name], (*inside, name))
                total += known.get(name, 0)  # a recursive part reads its own rows without a copy
        return total

    if count_copies(range(len(found)), ()) > MAX_USES:
        raise QueryRefusal(
            f"The parts of WITH are used more than {MAX_USES} times, counting uses in parts that are used."
        )


def _find_closing(found: Sequence[Token], start: int) -> int:
    """Return the index after the bracket that closes the one at `start`."""
    depth = 0
    for n in range(start, len(found)):
        depth += (found[n] == OPEN) - (found[n] == CLOSE)
        if depth == 0:
            return n + 1
    return len(found)


MAX_SQL = 2_000
"""Maximum number of characters in a statement."""
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that passed the checks."""

    sql: str
    parts: frozenset[str]
    """Names of the common table expressions, in lower case."""
    is_ordered: bool
    """Whether an ORDER BY outside all brackets orders the result."""


def read_statement(sql: str, names: Collection[str]) -> Statement:
    """Parse a statement for a database with these table and column names, in lower case.

    Raises `QueryRefusal` for text that is not a single query, and for a query that depends on SQLite's build.
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
    """Raise `QueryRefusal` for double quotes around text, which only some builds of SQLite accept instead of reading a
    name."""
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
