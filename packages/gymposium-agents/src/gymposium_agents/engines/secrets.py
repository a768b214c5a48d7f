"""Removal of API keys from the text of servers, which records, logs and pages repeat."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from functools import lru_cache

HIDDEN = "[key]"
"""The text that replaces a key."""

_LAYERS = 4
"""Number of nested encodings that are undone in the search for a key."""
_SHORTEST = 8
"""Number of characters of the shortest key that is removed. Shorter ones, such as `none` for a server on this machine,
are no secrets, and occur in replies by chance."""

_ESCAPE = re.compile(
    r"\\{1,8}(?:u00[0-9a-f]{2}|u\{0{0,6}[0-9a-f]{2}\}|x[0-9a-f]{2}|[01][0-7]{2}|[!-/:-@\[-`{-~])"
    r"|\\{1,8}(?:[bfnrt]|u(?:00ad|200[b-f]|2060|feff))"  # invisible
    r"|%(?:25){0,4}[0-9a-f]{2}"
    r"|=[0-9a-f]{2}"
    r"|&(?:\#x?[0-9a-f]{1,8}|[a-z]{2,8});?"
    r"|[\x00-\x1f\x7f\xad\u200b-\u200f\u2060\ufeff]{1,9}",  # invisible
    re.IGNORECASE,
)


def without_secret(text: str, secret: str | None) -> str:
    """Replace each occurrence of the secret in the text by `[key]`: plain, in base64 or hexadecimal digits, or with the
    escapes of JSON, HTML or URLs, which may be nested. If the secret occurs in escapes only, the text is returned with
    all its escapes undone. A secret of fewer than eight characters stays, because it may be a word or a move."""
    if not secret or len(secret) < _SHORTEST:
        return text
    forms = _forms(secret)
    for form in forms:
        text = text.replace(form, HIDDEN)
    plain = text
    for _ in range(_LAYERS):
        before, plain = plain, _ESCAPE.sub(lambda match: _unescaped(match[0]), plain)
        if plain == before:
            return text
        if any(form in plain for form in forms):
            return without_secret(plain, secret)
    return text


def _forms(secret: str) -> list[str]:
    """The secret, its hexadecimal digits, and the part of its base64 form that is the same in any text."""
    data = secret.encode()
    forms = [secret, data.hex(), data.hex().upper()]
    for before in range(3):
        text = b64encode(bytes(before) + data).decode()
        kept = text[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        forms += dict.fromkeys((kept, kept.replace("+", "-").replace("/", "_")))
    return forms


_BLANKS = ("b", "f", "n", "r", "t", "u00ad")


@lru_cache(maxsize=4096)
def _unescaped(escape: str) -> str:
    first, rest = escape[0], escape.lstrip("\\")
    if first == "&":
        return html.unescape(escape)
    if first == "\\" and ((len(rest) == 5 and rest[1:3] != "00") or rest.lower() in _BLANKS):
        return ""
    if first in "%=" or rest[:1] in ("u", "U", "x", "X"):
        return chr(int(rest.rstrip("}")[-2:], 16))
    if first == "\\":
        return chr(int(rest, 8)) if len(rest) == 3 else escape[-1]
    return ""
