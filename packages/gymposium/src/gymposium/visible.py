"""Text that somebody else wrote, made safe to look at: each character that steers instead of showing is spelled out."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_PERHAPS = re.compile(r"[^\t\n -~]")
_STEER = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of controls, formats (direction, zero width), half surrogate pairs, line and paragraph ends."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""What belongs to other categories and shows nothing, either."""


def visible(text: str) -> str:
    """The text with a symbol for each character that shows nothing or turns other text around: `␛[31m` where an escape
    sequence stood, `⟨U+202E⟩` for a right-to-left override. Line breaks and tabs stay."""
    return _PERHAPS.sub(lambda found: _shown(found[0]), text.replace("\r\n", "\n"))


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    if unicodedata.category(character) not in _STEER and character not in _BLANK:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
