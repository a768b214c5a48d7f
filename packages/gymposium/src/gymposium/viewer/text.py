"""How text that games and players write is laid out on a page."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}[,;:]? [A-Za-z]{2,}\b")
"""Three words in a row."""


def shortened(text: str, most: int = 20_000) -> str:
    """The text, of a very long one its beginning and its end with the number of characters left out."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]}\n\n[… {len(text) - head - tail:,} characters are left out here …]\n\n{text[-tail:]}"


def is_prose(line: str) -> bool:
    """Whether a line may wrap: a sentence, or an item of a list of sentences. The lines of boards, tables and programs
    keep their columns. Where the guess is wrong, a line wraps or is scrolled to."""
    begins = line[:1].isupper() or line.startswith("- ")
    return begins and "  " not in line and _WORDS.search(line) is not None
