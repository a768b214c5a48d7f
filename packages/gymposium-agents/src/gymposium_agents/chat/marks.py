"""Private-use characters, which serve as marks in a text while a template renders it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from gymposium.errors import GymposiumError

_PLANES = ((0xE000, 0xF900), (0xF0000, 0xFFFFE), (0x100000, 0x10FFFE))
_PRIVATE = re.compile("[" + "".join(f"{chr(start)}-{chr(stop - 1)}" for start, stop in _PLANES) + "]")


def private(texts: Iterable[str]) -> frozenset[str]:
    """The private-use characters that occur in any of these texts."""
    return frozenset(chain.from_iterable(_PRIVATE.findall(text) for text in texts if not text.isascii()))


def free(taken: frozenset[str], count: int) -> Sequence[str]:
    """The first `count` private-use characters that are not in `taken`.

    Raises `GymposiumError` if there are not enough."""
    every = map(chr, chain.from_iterable(range(*plane) for plane in _PLANES))
    marks = tuple(islice((mark for mark in every if mark not in taken), count))
    if len(marks) < count:
        raise GymposiumError(
            "The messages use every private-use character of Unicode, and one is needed to tell their text from the "
            "chat template's. Shorten them."
        )
    return marks
