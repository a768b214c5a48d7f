"""Slugs: names of games and players in file names and URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

_LONGEST = 48
"""Maximum length of a slug's readable part, in characters."""
_MOST = 180
"""Maximum length of a file name without its suffix, in characters; file systems allow a little more."""


def slug(text: str) -> str:
    """Return the slug of a name, such as `goofspiel-num_cards-5-1c9f20e3`: lower-case letters, digits, `_`, `.` and
    single hyphens. A valid slug is returned unchanged; other slugs end in a digest of the name, so that all differ."""
    plain = re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")[:_LONGEST].strip("-.")
    return plain if text and plain == text else f"{plain}-{_digest(text)}".lstrip("-")


def joint_slug(slugs: Iterable[str]) -> str:
    """Join several slugs, in order: `random--mcts-25`."""
    joined = "--".join(slugs)
    return joined if len(joined) <= _MOST else f"{joined[:_LONGEST].rstrip('-.')}-{_digest(joined)}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
