"""What a mail says, read from its text: who wrote it, the sentences that are the sender's own, the names of people.

A quoted line says nothing, and neither does a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gymposium_worlds.mail.message import Mail

_WROTE = re.compile(r"On .+ wrote:")
_END = re.compile(r"(?<=[.?!])\s+")
_LEAD = re.compile(r"(?:(?:as|for|just|correction|change)\b[a-z ]*[,:] )?(?P<rest>.+)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Own:
    """What is the sender's own in a mail."""

    mail: Mail
    sender: str
    """The name in the header."""
    signature: str
    """The name below the text."""
    statements: tuple[str, ...]
    """Sentences that end with a full stop, without it and without words such as `Correction:` before them."""


def own_words(mail: Mail) -> Own:
    """What is the sender's own in a mail, quotes left out."""
    lines = [line for line in mail.body.split("\n") if not line.startswith(">") and not _WROTE.fullmatch(line)]
    lines = [line.strip() for line in lines if line.strip()]
    statements = [found["rest"] for line in lines[:-1] for part in _END.split(line) if (found := _LEAD.fullmatch(part))]
    signature = lines[-1].partition(",")[0] if lines else ""
    return Own(mail, mail.sender.partition(" <")[0], signature, tuple(statements))


def names_of_people(mails: Iterable[Own]) -> Mapping[str, str]:
    """The name in headers by each name that a person uses, as far as these mails show."""
    names: dict[str, str] = {}
    for own in mails:
        names[own.signature] = names[own.sender] = own.sender
    return names
