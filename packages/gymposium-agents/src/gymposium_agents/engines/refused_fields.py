"""Optional fields of a request that a chat service refuses, and the request without them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai import APIStatusError

LIMITS = ("max_tokens", "max_completion_tokens")
"""The names that services give the maximum length of a reply. A service that refuses one knows the other."""
OPTIONAL = ("temperature", "seed")
"""Fields that a request can do without."""

_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_REFUSED = re.compile(
    r"unsupported|not supported|(does not|doesn't) support|not permitted|not allowed|unknown|unrecogni[sz]ed|"
    r"unexpected|extra_forbidden",
    re.IGNORECASE,
)
"""Words that refuse a field. A value out of range ("must be between 0 and 1", "is too large") has none of them: then
the user must change the value."""


def find_refused(error: APIStatusError, sent: Collection[str]) -> str | None:
    """Return the field among `sent` that the service refuses with this error, or None."""
    if error.status_code not in (400, 422):
        return None
    fields = [name for name in (*LIMITS, *OPTIONAL) if name in sent]
    message = _text(error.body) or error.message
    if error.code not in _CODES and not _REFUSED.search(message):
        return None
    if error.param:
        return next((name for name in fields if name == error.param), None)
    return next((name for name in fields if re.search(rf"(?<!\w){name}(?!\w)", message)), None)


def _text(body: Any) -> str:
    """Return the body's text. FastAPI puts it into a list `detail`, of which the library makes no message."""
    return "" if body is None else str(body)


class AcceptedFields:
    """What one service is known to accept: the name of its limit, and the optional fields to leave out."""

    def __init__(self, limit: str) -> None:
        self.limit = limit
        self.left_out: set[str] = set()

    def adapt(self, refused: str) -> None:
        """Remember that the service refuses this field."""
        if refused in LIMITS:
            self.limit = LIMITS[1 - LIMITS.index(refused)]
        else:
            self.left_out.add(refused)

    def remarks(self) -> list[str]:
        """Return one sentence for each field left out, with the option that avoids the refusal."""
        options = {"temperature": "temperature=default", "seed": "seed=false"}
        return [
            f"The service refuses {name}, which was left out: write {options[name]}."
            for name in OPTIONAL
            if name in self.left_out
        ]
