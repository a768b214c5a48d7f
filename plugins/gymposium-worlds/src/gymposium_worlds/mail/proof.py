"""Proof of answers from the text of mails alone.

It shares no code with the generator, and parses the question and each sentence with its own patterns. If both agree on
an answer, the mails contain this answer and no other. Quoted lines and questions do not count as statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gymposium_worlds.mail.message import Mail

_NOUN = (
    r"\bthe (?P<noun>lead|deadline|budget|price|supplier|delivery date|room|date|host|fee|end date|keeper|hotel|"
    r"departure date|number of travellers) of (?P<topic>.+?)"
)
_FIRST = re.compile(r"\bfirst\b.*? that (?P<claim>.+)[.?]$")
_OUT = re.compile(r"(?P<topic>.+) is out of order")
_IS = re.compile(rf"{_NOUN} is (?P<value>.+)")
_COUNT_QUESTION = re.compile(r"\bhow many .* (?:come to|be there for|join) (?P<topic>.+?)[.?]$", re.IGNORECASE)
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
        """Return the search phrase that finds every mail about the topic."""
        return self.topic.removeprefix("the ")


def read_question(text: str) -> QuestionTarget | None:
    """Parse a question about a generated mailbox. Returns None for an unknown form."""
    if found := _COUNT_QUESTION.search(text):
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


_WROTE = re.compile(r"On .+ wrote:")
_END = re.compile(r"(?<=[.?!])\s+")
_LEAD = re.compile(r"(?:(?:as|for|just|correction|change)\b[a-z ]*[,:] )?(?P<rest>.+)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnWords:
    """Parts of a mail that the sender wrote."""

    mail: Mail
    sender: str
    """The name in the header."""
    signature: str
    """The name below the text."""
    statements: tuple[str, ...]
    """Sentences that end with a full stop, without the full stop and prefixes such as `Correction:`."""


def extract_own_words(mail: Mail) -> OwnWords:
    """Return what the sender wrote, without quotes."""
    lines = [line for line in mail.body.split("\n") if not line.startswith(">") and not _WROTE.fullmatch(line)]
    lines = [line.strip() for line in lines if line.strip()]
    statements = [found["rest"] for line in lines[:-1] for part in _END.split(line) if (found := _LEAD.fullmatch(part))]
    signature = lines[-1].partition(",")[0] if lines else ""
    return OwnWords(mail, mail.sender.partition(" <")[0], signature, tuple(statements))


def map_names(mails: Iterable[OwnWords]) -> Mapping[str, str]:
    """Map each name that a person uses to that person's name in headers, as far as these mails show it."""
    names: dict[str, str] = {}
    for own in mails:
        names[own.signature] = names[own.sender] = own.sender
    return names


_DAY = r"[0-9]{1,2} [A-Z][a-z]+ [0-9]{4}"
_EUROS = r"[0-9,]+ euros"
_NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
_ROOM = r"room [A-Z][a-z]+"
_HOTEL = r"Hotel [A-Z][a-z]+"
_COUNT = r"[0-9]+"

_VALUES: Mapping[str, str] = {
    "deadline": _DAY, "lead": _NAME, "budget": _EUROS, "price": _EUROS, "supplier": _NAME, "delivery date": _DAY,
    "room": _ROOM, "date": _DAY, "host": _NAME, "fee": _EUROS, "end date": _DAY, "keeper": _NAME, "hotel": _HOTEL,
    "departure date": _DAY, "number of travellers": _COUNT,
}  # fmt: skip
"""The pattern of each attribute's values."""

_SAYINGS: Mapping[str, tuple[str, ...]] = {
    "deadline": ("T (?:now )?has to be finished by V", "we have to finish T by V"),
    "lead": (
        "V (?:now )?leads T", "T is led by V", "V takes over T from .+", "ME lead T",
        "ME am in charge of T from now on",
    ),
    "budget": ("we may (?:now )?spend V on T(?:, not .+)?",),
    "price": ("T costs V(?:, not .+)?", "we (?:now )?pay V for T"),
    "supplier": ("T comes from V(?:, not from .+)?", "V delivers T(?: in place of .+)?"),
    "delivery date": ("T will arrive on V(?:, not on .+)?",),
    "room": (
        "T (?:now )?takes place in V", "we meet in V for T(?:, not in .+)?", "T moves from room .+ to V",
    ),
    "date": ("T takes place on V(?:, not on .+)?", "we meet on V for T", "T moves from [0-9].+ to V"),
    "host": ("V (?:now )?hosts T(?: in place of .+)?", "ME host T", "ME am the host of T from now on"),
    "fee": ("we pay V a year for T(?:, not .+)?",),
    "end date": ("T (?:now )?runs until V",),
    "keeper": (
        "V (?:now )?looks after T", "V takes over T from .+", "ME look after T", "ME am the keeper of T from now on",
    ),
    "hotel": ("we stay at V on T(?:, not at .+)?",),
    "departure date": ("T begins on V(?:, not on .+)?",),
    "number of travellers": ("V of us go on T(?:, not .+)?", "T is (?:now )?for V people"),
}  # fmt: skip
"""Sentences that give an attribute a value without naming the attribute. T: the topic, V: the value, ME: the sender."""

_BROKEN = re.compile("T (?:is out of order|does not work any more|has broken down|is broken again)")
_COMES = re.compile(rf"(?P<who>I|{_NAME}) will come to T|(?P<other>{_NAME}) wants to join T as well|"
                    "[Cc]ount me in for T|I am happy to join T")  # fmt: skip
_STAYS = re.compile(
    rf"(?P<who>I|{_NAME}) (?:cannot come to|will not be there for) T|[Pp]lease do not count on me for T"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer found in mails."""

    answer: str
    """The value, name or number as written in a mail. A person is named as in the headers, if known."""
    sources: tuple[str, ...]
    """Ids of the mails that show the answer, earliest first."""


@dataclass(frozen=True, slots=True)
class _Claim:
    own: OwnWords
    value: str


class Checker:
    """A checker for a mailbox, or for the mails read so far, in sending order."""

    def __init__(self, mails: Iterable[Mail]) -> None:
        self._mails = [extract_own_words(mail) for mail in sorted(mails, key=lambda mail: mail.sent)]
        self._names = map_names(self._mails)

    def find_answers(self, asked: QuestionTarget) -> list[Finding]:
        """Return every answer to a question, in any order. The list is empty if the mails do not answer it.

        For a corrected value, only the final value is an answer.
        """
        if asked.form == "count":
            return self._count_people(asked.topic)
        claims = self._find_claims(asked)
        if asked.form == "value":
            return self._find_newest(claims)
        wanted = [claim for claim in claims if claim.value == self.resolve_name(asked.value)]
        return [Finding(wanted[0].own.sender, (wanted[0].own.mail.id,))] if wanted else []

    def list_values(self, asked: QuestionTarget) -> Sequence[str]:
        """Return all stated values of the attribute in question, earliest first."""
        return [claim.value for claim in self._find_claims(asked)]

    def resolve_name(self, name: str) -> str:
        """Return the header name of the person with this name, or the name unchanged if no mail shows the person."""
        return self._names.get(name, name)

    def _find_claims(self, asked: QuestionTarget) -> list[_Claim]:
        if not asked.noun:
            return [_Claim(own, "") for own, text in self._find_statements(asked.topic) if _BROKEN.fullmatch(text)]
        claims = []
        pattern = _build_pattern(asked.noun)
        for own, text in self._find_statements(asked.topic):
            if found := pattern.fullmatch(text):
                value = next((value for value in found.groups() if value is not None), own.sender)
                claims.append(_Claim(own, self.resolve_name(value)))
        return claims

    def _find_newest(self, claims: Sequence[_Claim]) -> list[Finding]:
        """Return the value in the last claim, and the mails that have stated it since the value last changed."""
        if not claims:
            return []
        last = claims[-1].own
        current = {claim.value for claim in claims if claim.own is last}
        findings = []
        for value in sorted(current):
            since = max((n for n, claim in enumerate(claims) if claim.value != value), default=-1)
            findings.append(Finding(value, tuple(claim.own.mail.id for claim in claims[since + 1 :])))
        return findings

    def _count_people(self, topic: str) -> list[Finding]:
        """Return the number of people who come, according to the last statement about each person."""
        comes: dict[str, str | None] = {}
        for own, text in self._find_statements(topic):
            found, stays = _COMES.fullmatch(text), _STAYS.fullmatch(text)
            if statement := found or stays:
                who = next((name for name in statement.groups() if name not in (None, "I")), None) or own.sender
                comes[self.resolve_name(who)] = own.mail.id if found else None
        sources = {source for source in comes.values() if source is not None}
        ordered = tuple(own.mail.id for own in self._mails if own.mail.id in sources)
        return [Finding(str(sum(source is not None for source in comes.values())), ordered)] if comes else []

    def _find_statements(self, topic: str) -> list[tuple[OwnWords, str]]:
        """Return the statements that name a topic, with `T` in place of its name."""
        name = re.compile(rf"\b{re.escape(topic)}\b", re.IGNORECASE)
        low = topic.casefold()
        return [
            (own, name.sub("T", text))
            for own in self._mails
            if low in own.mail.body.casefold()
            for text in own.statements
            if name.search(text)
        ]


@lru_cache(maxsize=64)
def _build_pattern(noun: str) -> re.Pattern[str]:
    """Return the pattern of statements that give the attribute a value. Exactly one group matches: the value."""
    named = (f"the {noun} of T is (?:now )?V(?:, not .+)?", f"the {noun} of T (?:changes|moves) from .+ to V")
    sayings = [saying.replace("ME", "I").replace("V", f"({_VALUES[noun]})") for saying in (*named, *_SAYINGS[noun])]
    return re.compile("|".join(f"(?:(?i:{s[0]}){s[1:]})" if s[0].islower() else s for s in sayings))
