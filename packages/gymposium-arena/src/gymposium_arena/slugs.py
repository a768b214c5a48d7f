"""Make slugs: names of games and players for file names and URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

_MAX_READABLE = 48
"""Maximum length of a slug's readable part, in characters."""
_MAX_LENGTH = 180
"""Maximum length in characters of a file name without its suffix. It is below the limits of file systems."""


def make_slug(text: str) -> str:
    """Return the slug of a name, such as `goofspiel-num_cards-5-1c9f20e3`: lower-case letters, digits, `_`, `.` and
    single hyphens. Valid slugs are returned unchanged. Other slugs end in a digest of the name, so that slugs are
    unique."""
    plain = re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")[:_MAX_READABLE].strip("-.")
    return plain if text and plain == text else f"{plain}-{_compute_digest(text)}".lstrip("-")


def join_slugs(slugs: Iterable[str]) -> str:
    """Join several slugs, in order: `random--mcts-25`."""
    joined = "--".join(slugs)
    return joined if len(joined) <= _MAX_LENGTH else f"{joined[:_MAX_READABLE].rstrip('-.')}-{_compute_digest(joined)}"


def _compute_digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
