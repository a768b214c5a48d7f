"""Display of untrusted text and values, shortened or with symbols for invisible characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from reprlib import Repr

_PERHAPS = re.compile(r"[^\t\n -~]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STEER = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of control characters, format characters (direction, zero width), surrogates, and line and
paragraph separators."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Invisible characters in other categories."""


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxlevel = 1


def shorten(value: object) -> str:
    """Return a shortened `repr` of a value for a message, with at most 80 characters of a text or one item of a
    container."""
    return _SHORT.repr(value)


def is_encodable(text: str) -> bool:
    """Return whether UTF-8 can encode the text: it has no lone surrogate."""
    return text.isascii() or _SURROGATE.search(text) is None


def visible(text: str) -> str:
    """Replace each control or invisible character, except line breaks and tabs, with a symbol.

    Examples: `␛[31m` for an escape sequence, `⟨U+202E⟩` for a right-to-left override."""
    return _PERHAPS.sub(lambda found: _show_character(found[0]), text.replace("\r\n", "\n"))


@lru_cache(maxsize=4096)
def _show_character(character: str) -> str:
    if unicodedata.category(character) not in _STEER and character not in _BLANK:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return the noun for a count: `match` for 1, else `matches`. `nouns` is an irregular plural."""
    if count == 1:
        return noun
    return nouns or f"{noun}{'es' if noun.endswith(('ch', 'sh', 's', 'x')) else 's'}"


def quantity(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: `1 match`, `1,200 matches`. `nouns` is an irregular plural."""
    return f"{count:,} {plural(count, noun, nouns)}"
