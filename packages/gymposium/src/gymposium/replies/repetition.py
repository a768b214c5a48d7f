"""Texts that end in a loop, as those of a language model do that repeats itself until it is cut off."""

from __future__ import annotations

_TAIL = 1200
"""Number of characters at the end that are looked at."""
_TIMES = 4
"""Number of times in a row that a loop is repeated at least."""
_SHORTEST = 60
"""Least number of characters that the repetitions take together."""


def ends_in_loop(text: str) -> bool:
    """Return whether a text ends with the same characters at least four times in a row, over at least 60 characters;
    the last repetition may be incomplete."""
    tail = text[-_TAIL:][::-1]
    borders = [0] * len(tail)  # of each beginning of `tail`, the longest border: its period is the rest
    border = 0
    for place in range(1, len(tail)):
        while border and tail[place] != tail[border]:
            border = borders[border - 1]
        border += tail[place] == tail[border]
        borders[place] = border
        length = place + 1
        if length >= _SHORTEST and (length - border) * _TIMES <= length and tail[:length].strip():
            return True
    return False
