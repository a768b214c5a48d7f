"""Parser for questions about generated mailboxes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_NOUN = (
    r"\bthe (?P<noun>lead|deadline|budget|price|supplier|delivery date|room|date|host|fee|end date|keeper|hotel|"
    r"departure date|number of travellers) of (?P<topic>.+?)"
)
_FIRST = re.compile(r"\bfirst\b.*? that (?P<claim>.+)[.?]$")
_OUT = re.compile(r"(?P<topic>.+) is out of order")
_IS = re.compile(rf"{_NOUN} is (?P<value>.+)")
_COUNT = re.compile(r"\bhow many .* (?:come to|be there for|join) (?P<topic>.+?)[.?]$", re.IGNORECASE)
_VALUE = re.compile(rf"{_NOUN}(?: now| is| for me, please)?[.?](?: |$)")


@dataclass(frozen=True, slots=True)
class QuestionTarget:
    """A parsed question."""

    form: Literal["value", "first", "count"]
    topic: str
    """`Project Blue Heron`, `the lift in the Oslo office`."""
    noun: str = ""
    """The attribute, such as `deadline`; empty for counts and incidents."""
    value: str = ""
    """For `first`: the value of the attribute."""

    @property
    def phrase(self) -> str:
        """Return the search words that find each mail about the topic."""
        return self.topic.removeprefix("the ")


def read_question(text: str) -> QuestionTarget | None:
    """Parse a question about a generated mailbox. Returns None if it has another form."""
    if found := _COUNT.search(text):
        return QuestionTarget("count", found["topic"])
    if found := _FIRST.search(text):
        claim = found["claim"]
        if out := _OUT.fullmatch(claim):
            return QuestionTarget("first", out["topic"])
        stated = _IS.fullmatch(claim)
        return stated and QuestionTarget("first", stated["topic"], stated["noun"], stated["value"])
    if found := _VALUE.search(text):
        return QuestionTarget("value", found["topic"], found["noun"])
    return None
