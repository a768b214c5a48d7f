"""Optional request fields that a chat service refuses, and requests without these fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymposium_agents.engines.api_errors import OUT_OF_RANGE, extract_error_words

if TYPE_CHECKING:
    from openai import APIStatusError

LIMITS = ("max_tokens", "max_completion_tokens")
"""The field names for the maximum length of a reply. A service that refuses one supports the other."""
OPTIONAL = ("temperature", "seed")
"""Fields that a request may omit."""

_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_REFUSED = re.compile(
    r"unsupported|(does not|doesn't|do not) support|unknown|(un|not )recogni[sz]ed|unexpected|extra_forbidden|"
    r"(not|no longer) (currently |yet )?(supported|permitted|allowed|accepted|available|implemented|configurable)|"
    r"extra inputs|deprecated|disallowed|forbidden|incompatible|not compatible|additional propert|"
    r"(cannot|can't|can not|must not|may not|should not) be "
    r"(set|specified|used|changed|modified|present|provided|sent)|"
    r"(not a valid|invalid) (parameter|argument|field|option|property)",
    re.IGNORECASE,
)
"""The pattern of errors that refuse a field."""
_FIXED = re.compile(
    r"\bonly\b([^.;]|\.\d){1,60}\b(allowed|supported|permitted|accepted|valid)|"
    r"\b(must|should|can only|may only|has to|needs to) be (exactly|equal to|set to|fixed|left|the default|unset)|"
    r"\b(must|should|can only|may only|has to|needs to) be \d+(\.\d+)?(?= (for|when|with|if|in)\b|[^\w.]*$|\.(\s|$))",
    re.IGNORECASE,
)
"""The pattern of errors for an optional field with a single accepted value."""


def find_refused(error: APIStatusError, fields: Sequence[str]) -> str | None:
    """Return the field of `fields` that this error refuses, or None."""
    if error.status_code not in (400, 422):
        return None
    message = extract_error_words(error.body) or error.message
    if error.param and error.param != "None":  # LiteLLM writes Python's None as text
        named = [name for name in fields if name == str(error.param).rpartition(".")[2]]
    else:
        named = [name for name in fields if re.search(rf"(?<!\w){name}(?!\w)", message, re.IGNORECASE)]
    if not named or error.code in _CODES:
        return named[0] if named else None
    is_refused = _REFUSED.search(message) or (named[0] not in LIMITS and _FIXED.search(message))
    return named[0] if is_refused and not OUT_OF_RANGE.search(message) else None


class AcceptedFields:
    """The fields that a service accepts: the name of its length limit, and the optional fields to omit."""

    def __init__(self, limit: str) -> None:
        self.limit = self._first_limit = limit
        self.left_out: set[str] = set()

    def adapt(self, refused: str) -> None:
        """Note that the service refuses this field, and stop sending it."""
        if refused in LIMITS:
            self.limit = LIMITS[1 - LIMITS.index(refused)]
        else:
            self.left_out.add(refused)

    def remarks(self) -> list[str]:
        """Return one sentence per refused field, with the option that avoids the refusal."""
        sentences = list[str]()
        if self.limit != self._first_limit:
            sentences.append(
                f"The service refuses {self._first_limit}, and {self.limit} was sent instead: write limit={self.limit}."
            )
        options = {"temperature": "temperature=default", "seed": "seed=false"}
        return sentences + [
            f"The service refuses {name}, which was left out: write {options[name]}."
            for name in OPTIONAL
            if name in self.left_out
        ]
