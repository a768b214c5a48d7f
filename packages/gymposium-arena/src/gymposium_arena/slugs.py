"""Slugs: names of games and players in file names and URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

_LONGEST = 48
"""Longest readable part of a slug, in characters."""
_MOST = 180
"""Longest file name without its suffix, in characters; file systems take a little more."""


def slug(text: str) -> str:
    """The slug of a name, such as `goofspiel-num_cards-5-1c9f20e3`: lower-case letters, digits, `_`, `.` and single
    hyphens. A name that is a slug already is kept; others end in a digest of the name, so that no two are equal."""
    plain = re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")[:_LONGEST].strip("-.")
    return plain if text and plain == text else f"{plain}-{_digest(text)}".lstrip("-")


def joint_slug(slugs: Iterable[str]) -> str:
    """Several slugs in order as one: `random--mcts-25`."""
    joined = "--".join(slugs)
    return joined if len(joined) <= _MOST else f"{joined[:_LONGEST].rstrip('-.')}-{_digest(joined)}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
