"""Mail writing: times, greetings, signatures and quotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.people import Person
from gymposium_worlds.mail.making.values import format_day
from gymposium_worlds.mail.message import Mail

_MINUTES = 600
"""Number of minutes in a working day, which begins at eight."""
_BEFORE = (
    "I hope that you are well.", "I am just back from lunch.", "Sorry for the late answer.", "Here is some news.",
    "We talked about this in the corridor.", "This is short, because I am on the train.",
)  # fmt: skip
_AFTER = (
    "Please tell me if something is not clear.", "I will be in the office all week.", "Thank you for your patience.",
    "Let us talk about the rest on the phone.", "More will follow soon.", "Please pass this on to your team.",
)  # fmt: skip
_ENDS = ("Best regards", "Kind regards", "Many thanks", "See you soon")


@dataclass(slots=True)
class Draft:
    """A mail in an incomplete mailbox."""

    minute: int
    """Working minutes since the first day. Unique in the mailbox."""
    sender: Person
    recipients: Sequence[Person]
    subject: str
    body: str
    id: str = ""
    """The mail's id, assigned by `Outbox.mails`."""


class Outbox:
    """The mails of a mailbox under construction."""

    def __init__(self, people: Sequence[Person], first: date, days: int, draw: Draw) -> None:
        """Create an empty outbox. The first person is the owner, who sends or receives each mail."""
        self.owner, self.others = people[0], people[1:]
        self.drafts: list[Draft] = []
        self._days = [first + timedelta(days=n) for n in range(days)]
        self._taken: set[int] = set()
        self._draw = draw

    @property
    def minutes(self) -> int:
        """Number of working minutes available for new mails. Answers may be sent later."""
        return len(self._days) * _MINUTES

    def day(self, minute: int) -> date:
        """Return the day of this minute."""
        number = minute // _MINUTES
        return self._days[number] if number < len(self._days) else self._days[0] + timedelta(days=number)

    def find_free_minute(self, minute: int) -> int:
        """Return the first free minute, starting at `minute`."""
        while minute in self._taken:
            minute += 1
        return minute

    def write(
        self,
        minute: int,
        sender: Person,
        subject: str,
        sentences: Sequence[str],
        answers: Draft | None = None,
        quotes: bool = True,
    ) -> Draft:
        """Write a mail at this minute, or at the next free one. An answer has the same subject as the mail that it
        answers, and quotes it unless `quotes` is False.
        """
        minute = self.find_free_minute(minute)
        self._taken.add(minute)
        draw = self._draw
        to = [self.owner] if sender is not self.owner else [answers.sender] if answers else []
        to += [one for one in draw.some(self.others, draw.below(3)) if one is not sender and one not in to]
        if not to:
            to = draw.some(self.others, 1)
        named = to[0].alias.split()[0] if draw.chance(0.6) else "all"
        lines = [f"{draw.pick(('Hello', 'Dear'))} {named},", "", self._write_paragraph(sentences), "", draw.pick(_ENDS)]
        lines.append(f"{sender.alias}, {sender.role}")
        if answers is not None:
            subject = answers.subject if answers.subject.startswith("Re: ") else f"Re: {answers.subject}"
            if quotes:
                quoted = self._quote(answers)
                lines = [*quoted, "", *lines] if draw.chance(0.3) else [*lines, "", *quoted]
        draft = Draft(minute, sender, to, subject, "\n".join(lines))
        self.drafts.append(draft)
        return draft

    def mails(self) -> tuple[Mail, ...]:
        """Return all mails in sending order, with ids from `m1`."""
        self.drafts.sort(key=lambda draft: draft.minute)
        found = []
        for number, draft in enumerate(self.drafts, start=1):
            draft.id = f"m{number}"
            to = ", ".join([person.header for person in draft.recipients])
            found.append(Mail(draft.id, self._format_time(draft), draft.sender.header, to, draft.subject, draft.body))
        return tuple(found)

    def _write_paragraph(self, sentences: Sequence[str]) -> str:
        draw = self._draw
        before = [draw.pick(_BEFORE)] if draw.chance(0.35) else []
        after = [draw.pick(_AFTER)] if draw.chance(0.35) else []
        return " ".join([*before, *sentences, *after])

    def _quote(self, draft: Draft) -> list[str]:
        """Return the lines that quote a mail, without its nested quotes."""
        day, clock = self.day(draft.minute), self._format_time(draft)[-5:]
        lines = [f"> {line}".rstrip() for line in draft.body.split("\n") if not line.startswith("> >")]
        return [f"On {format_day(day)} at {clock}, {draft.sender.name} wrote:", *lines]

    def _format_time(self, draft: Draft) -> str:
        minute = draft.minute % _MINUTES
        return f"{self.day(draft.minute).isoformat()} {8 + minute // 60:02}:{minute % 60:02}"
