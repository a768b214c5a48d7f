"""Parser for mails: the author, the sender's sentences, and people's names.

Quoted lines and questions state nothing.
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
    """Map each name that a person uses to the name in headers, as far as these mails show it."""
    names: dict[str, str] = {}
    for own in mails:
        names[own.signature] = names[own.sender] = own.sender
    return names
