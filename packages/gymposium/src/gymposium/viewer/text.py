"""Very long text."""

from __future__ import annotations


def shortened(text: str, most: int = 20_000) -> str:
    """The text, of a very long one its beginning and its end with the number of characters left out."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]}\n\n[… {len(text) - head - tail:,} characters are left out here …]\n\n{text[-tail:]}"
