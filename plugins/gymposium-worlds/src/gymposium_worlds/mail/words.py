"""Words of a text, as the search compares them."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")


def split_words(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters and digits, in lower case, without accents.

    Python's Unicode tables decide what a letter is, not SQLite's.
    """
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text.casefold())
        text = "".join([one for one in parts if not unicodedata.combining(one)])
    return _WORD.findall(text.casefold())
