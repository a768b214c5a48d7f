"""Detection of texts that end in a loop, such as replies from a language model that repeats itself until it is cut
off."""

from __future__ import annotations

_TAIL = 1200
"""Number of final characters to examine."""
_TIMES = 4
"""Minimum number of consecutive repetitions."""
_SHORTEST = 60
"""Minimum total length of the repetitions, in characters."""


def ends_in_loop(text: str) -> bool:
    """Return whether a text ends with the same characters at least four times in a row.

    The repetitions must span at least 60 characters. The last one may be incomplete."""
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
