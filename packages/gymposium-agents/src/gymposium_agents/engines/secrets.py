"""Removal of API keys from servers' text, which records, logs and pages repeat."""

from __future__ import annotations

import html
import re
import unicodedata
from base64 import b64encode
from functools import lru_cache

HIDDEN = "[key]"
"""The text that replaces a key."""

_LAYERS = 4
"""Number of nested encodings to undo in the search for a key."""
_MOST_LAYERS = 8
"""Maximum number of nested encodings to undo if keys appear in each layer."""
_SHORTEST = 8
"""Length of the shortest key that is removed, in characters. Shorter keys, such as `none` for a server on this machine,
are not secrets, and occur in replies by chance."""

_ESCAPE = re.compile(
    r"\\{1,8}(?:(?-i:U)[0-9a-f]{8}|u[0-9a-f]{4}|u\{[0-9a-f]{1,8}\}|x[0-9a-f]{2}|[01][0-7]{2}|[bfnrt]"
    r"|[!-/:-@\[-`{-~])"
    r"|%(?:25){0,4}[0-9a-f]{2}"
    r"|=[0-9a-f]{2}"
    r"|&(?:\#x?[0-9a-f]{1,8}|[a-z][a-z0-9]{1,31});?",
    re.IGNORECASE,
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_TAGS = 0xE0000
"""Offset between an invisible tag character and its ASCII character."""
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_MOST_REMEMBERED = 10_000


def remove_secret(text: str, secret: str | None) -> str:
    """Replace each occurrence of the secret in the text with `[key]`.

    Finds it plain, in base64 or hexadecimal, escaped for JSON, HTML or URLs (even nested), in lookalike letters, or
    with invisible characters in between. If the secret occurs only in encoded forms, the text is returned with all
    escapes undone. After more than `_MOST_LAYERS` layers, it is returned as `[key]`. A secret of fewer than eight
    characters stays, because it may be a word or a move."""
    if not secret or len(secret) < _SHORTEST:
        return text
    forms = _make_pattern(secret)
    shown = plain = forms.sub(HIDDEN, text)
    clean = 0
    for _ in range(_MOST_LAYERS):
        before, plain = plain, _undo_escapes(plain)
        if clean == _LAYERS or plain == before:
            return shown
        plain, found = forms.subn(HIDDEN, plain)
        clean = 0 if found else clean + 1
        shown = plain if found else shown
    return HIDDEN


@lru_cache(maxsize=64)
def _make_pattern(secret: str) -> re.Pattern[str]:
    """Return a pattern for the secret, its hexadecimal digits, the context-independent part of its base64 form, and its
    tags."""
    data = secret.encode()
    forms = [secret]
    for before in range(3):
        text = b64encode(bytes(before) + data).decode()
        kept = text[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        forms += dict.fromkeys((kept, kept.replace("+", "-").replace("/", "_")))
    if secret.isascii():
        forms.append("".join(chr(_TAGS + ord(character)) for character in secret))
    return re.compile("|".join([*map(re.escape, forms), f"(?i:{data.hex()})"]))


def _undo_escapes(text: str) -> str:
    """Return the text with one layer of escapes undone, and without invisible characters."""
    text = _ESCAPE.sub(lambda match: _unescape(match[0]), text.translate(_PLAIN))
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


class _PlainCharacters(dict[int, str]):
    """The plain form of each character: ASCII for a letter of another shape, and nothing for an invisible one."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        character = chr(code)
        invisible = unicodedata.category(character) in ("Cc", "Cf", "Cn", "Me", "Mn", "Zl", "Zp") or character in _BLANK
        normal = unicodedata.normalize("NFKC", character)
        self[code] = "" if invisible else normal if normal.isascii() else character
        return self[code]


_PLAIN = _PlainCharacters()


@lru_cache(maxsize=4096)
def _unescape(escape: str) -> str:
    first, rest = escape[0], escape.lstrip("\\")
    if first == "&":
        return html.unescape(escape)
    if first in "%=":
        return chr(int(escape[-2:], 16))
    if rest[:1] in ("u", "U", "x", "X"):
        code = int(rest[1:].strip("{}"), 16)
        return chr(code) if code <= 0x10FFFF else ""
    if len(rest) == 3:
        return chr(int(rest, 8))
    return "" if rest.lower() in ("b", "f", "n", "r", "t") else escape[-1]
