"""Names of games and players as they stand in file names and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

_LONGEST = 48
_MOST = 180
"""Characters of a file's name, before its ending; what file systems take is a little more."""


def slug(text: str) -> str:
    """`goofspiel-num_cards-5-1c9f20e3`: lower-case letters, digits, `_`, `.` and single hyphens, the same everywhere.
    What is spelled so already stays as it is; else a digest of the whole text keeps apart what would look alike."""
    plain = re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")[:_LONGEST].strip("-.")
    return plain if text and plain == text else f"{plain}-{_digest(text)}".lstrip("-")


def joint_slug(slugs: Iterable[str]) -> str:
    """Several of them, in order, as one: `random--mcts-25`."""
    joined = "--".join(slugs)
    return joined if len(joined) <= _MOST else f"{joined[:_LONGEST].rstrip('-.')}-{_digest(joined)}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
