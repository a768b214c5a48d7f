"""One e-mail, as text."""

from __future__ import annotations

from dataclasses import dataclass

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
"""The months as written in mails, independent of the locale."""


@dataclass(frozen=True, slots=True)
class Mail:
    """An e-mail as a reader sees it. All fields are text."""

    id: str
    """The mail's id, unique in its mailbox."""
    sent: str
    """Date and time, such as `2024-03-05 09:12`. Sorting the text gives chronological order."""
    sender: str
    """Name and address, such as `Robert Miller <rm12@arden.example>`, or an address alone."""
    recipients: str
    """Names and addresses, separated by commas."""
    subject: str
    body: str
    """Lines of text. Lines that begin with `>` quote another mail."""


def parse_address(sender: str) -> str:
    """Return the address in a sender such as `Robert Miller <rm12@arden.example>`, or the whole text if it has no
    brackets."""
    _, bracket, rest = sender.rpartition("<")
    return rest.rstrip("> ") if bracket else sender
