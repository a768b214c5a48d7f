"""Common table expressions (parts of WITH) in a statement, and how often SQLite would copy them.

SQLite copies a part for each use before a query runs, and no limit applies then. If each part uses the previous one
twice, a few hundred characters make millions of copies.
"""

from __future__ import annotations

from collections.abc import Sequence

from gymposium_worlds.tables.sql.refusal import QueryRefusal
from gymposium_worlds.tables.sql.tokens import AS, CLOSE, COMMA, OPEN, POINT, Token

MAX_USES = 100
"""Maximum total copies of parts."""
_BEFORE_TABLES = {COMMA, OPEN, Token("word", "from"), Token("word", "join"), Token("word", "in")}
"""Tokens that may precede a table name."""


def find_parts(found: Sequence[Token]) -> dict[str, range]:
    """Return the positions of each part's query, by name. Raises `QueryRefusal` if two parts share a name."""
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
    """Raise `QueryRefusal` if the parts would be copied too often."""
    known: dict[str, int] = {}

    def copies(places: range, inside: tuple[str, ...]) -> int:
        total = 0
        for n in places:
            name = found[n].text
            if name in parts and n > 0 and found[n - 1] in _BEFORE_TABLES and found[n + 1 : n + 2] != [POINT]:
                if name in inside[:-1]:
                    return MAX_USES + 1  # two parts that use each other
                if name not in inside and name not in known:
                    known[name] = 1 + copies(parts[name], (*inside, name))
                total += known.get(name, 0)  # a recursive part reads its own rows without a copy
        return total

    if copies(range(len(found)), ()) > MAX_USES:
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
