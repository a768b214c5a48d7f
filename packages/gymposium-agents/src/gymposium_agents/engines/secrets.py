"""Keys kept out of what servers say: records, logs and pages repeat it."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from functools import lru_cache

HIDDEN = "[key]"
"""What stands in a key's place."""

_LAYERS = 4
"""How often a text may be encoded over and over."""
_ENCODED_FROM = 8
"""Characters from which a key is looked for in other forms. Shorter ones, such as the `none` that a server on this
machine is given, are no secrets, and their forms occur by chance."""

_ESCAPE = re.compile(
    r"\\{1,8}(?:u00[0-9a-f]{2}|u\{0{0,6}[0-9a-f]{2}\}|x[0-9a-f]{2}|[01][0-7]{2}|[!-/:-@\[-`{-~])"
    r"|\\{1,8}(?:[bfnrt]|u(?:00ad|200[b-f]|2060|feff))"  # shows nothing
    r"|%(?:25){0,4}[0-9a-f]{2}"
    r"|=[0-9a-f]{2}"
    r"|&(?:\#x?[0-9a-f]{1,8}|[a-z]{2,8});?"
    r"|[\x00-\x1f\x7f\xad\u200b-\u200f\u2060\ufeff]{1,9}",  # shows nothing
    re.IGNORECASE,
)


def without_secret(text: str, secret: str | None) -> str:
    """The text with `[key]` wherever the secret stands in it: as it is, in base64 or hexadecimal digits, or written
    with escapes (JSON's, HTML's, those of URLs), several times over. Where it stands there in escapes alone, the text
    is returned with all its escapes undone."""
    if not secret:
        return text
    forms = _forms(secret)
    for form in forms:
        text = text.replace(form, HIDDEN)
    plain = text
    for _ in range(_LAYERS):
        before, plain = plain, _ESCAPE.sub(lambda found: _unescaped(found[0]), plain)
        if plain == before:
            return text
        if any(form in plain for form in forms):
            return without_secret(plain, secret)
    return text


def _forms(secret: str) -> list[str]:
    """The secret itself and, where it is long enough to be one, its digits and the part of its base64 that does not
    depend on what stands around it."""
    if len(secret) < _ENCODED_FROM:
        return [secret]
    data = secret.encode()
    found = [secret, data.hex(), data.hex().upper()]
    for before in range(3):
        text = b64encode(bytes(before) + data).decode()
        kept = text[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        found += dict.fromkeys((kept, kept.replace("+", "-").replace("/", "_")))
    return found


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
