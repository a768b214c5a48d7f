"""Texts that the mailbox tools return, and parsers for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.store import SearchResult

MAX_RESULTS = 10
"""Maximum number of mails shown per search."""
_MAX_TEXT = 4_000
"""Maximum number of characters shown of a mail."""
_MAX_PART = 100
NO_MAILS = "No mail fits."
"""The result of a search that finds nothing."""
_HEAD = "Mails that fit, the latest first:"
_MORE = "More mails fit. Narrow the search, or give sent_before to see earlier ones."
_LINE = re.compile(r"^(\S+) \| [0-9-]{10} [0-9:]{5} \| ", re.MULTILINE)
_MAIL = re.compile(
    r"Id: (?P<id>.*)\nDate: (?P<sent>.*)\nFrom: (?P<sender>.*)\nTo: (?P<recipients>.*)\nSubject: (?P<subject>.*)\n\n"
    r"(?P<body>(?:.|\n)*)"
)


def format_results(found: Sequence[SearchResult]) -> str:
    """Return the result of a search. It shows the first `MAX_RESULTS` mails, without their text."""
    if not found:
        return f"{NO_MAILS}\n"
    lines = [
        f"{one.id} | {one.sent} | {_shorten(one.address)} | {_shorten(one.subject)}" for one in found[:MAX_RESULTS]
    ]
    return "\n".join([_HEAD, *lines, *([_MORE] if len(found) > MAX_RESULTS else [])]) + "\n"


def parse_ids(text: str) -> list[str]:
    """Return the ids in a search result, in order."""
    return _LINE.findall(text)


def format_mail(mail: Mail) -> str:
    """Return a mail as its reader sees it, truncated if it is too long."""
    head = (
        f"Id: {mail.id}\nDate: {mail.sent}\nFrom: {_shorten(mail.sender)}\nTo: {_shorten(mail.recipients, 4)}\n"
        f"Subject: {_shorten(mail.subject)}\n\n"
    )
    room = _MAX_TEXT - len(head) - 60
    cut = f"\n[{len(mail.body) - room:,} more characters are not shown]" if len(mail.body) > room else ""
    return f"{head}{mail.body[:room]}{cut}\n"


def parse_mail(text: str) -> Mail | None:
    """Parse a text of `format_mail`; None for other texts."""
    found = _MAIL.fullmatch(text.removesuffix("\n"))
    return found and Mail(**found.groupdict())


def _shorten(text: str, times: int = 1) -> str:
    """Return the text on one line, truncated if it is too long."""
    line = " ".join(text.split())
    most = _MAX_PART * times
    return line if len(line) <= most else f"{line[: most - 1]}…"
