"""English words of three to seven letters. Their source and license stand in the file LICENSE beside them.

Each file has the words of one length. Common words are in capitals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

SHORTEST, LONGEST = 3, 7


class Words(NamedTuple):
    """All words of one length, sorted and in lower case."""

    every: tuple[str, ...]
    common: tuple[str, ...]
    """The words of `every` that most people know, without offensive ones."""


@lru_cache
def load_words(letters: int) -> Words:
    """Return the words with this number of letters, from `SHORTEST` to `LONGEST`."""
    listed = (files(__name__) / f"{letters}.txt").read_text(encoding="ascii").split()
    return Words(tuple(map(str.lower, listed)), tuple([word.lower() for word in listed if word.isupper()]))


def encode_words(words: Sequence[str]) -> np.ndarray:
    """Return the codes of the letters of words of one length, in the shape (words, letters)."""
    return np.array(words).astype("S").view(np.uint8).reshape(len(words), -1)
