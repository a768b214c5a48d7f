"""Text that somebody else wrote, made safe to look at: each character that steers instead of showing is spelled out."""

from __future__ import annotations

import re

_NOT_SHOWN = re.compile(
    # C0 but for tab and line break, DEL and C1; soft hyphen, Arabic and Mongolian marks; zero width and direction;
    # separators and invisible operators; half surrogate pairs; variation selectors' tags, fillers, annotations
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """The text with a symbol for each character that shows nothing or turns other text around: `␛[31m` where an escape
    sequence stood, `⟨U+202E⟩` for a right-to-left override. Line breaks and tabs stay."""
    return _NOT_SHOWN.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def shortened(text: str, most: int = 20_000) -> str:
    """The text, of a very long one its beginning and its end with the number of characters left out."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]}\n\n[… {len(text) - head - tail:,} characters are left out here …]\n\n{text[-tail:]}"
