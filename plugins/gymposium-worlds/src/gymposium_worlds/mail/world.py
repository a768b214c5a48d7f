"""The world of a match: a question about a mailbox, its tools, and the score of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from gymposium.errors import BadRecord
from gymposium.games.protocol import Style
from gymposium.tasks import Result
from gymposium.tasks.tools import Call, Tool
from gymposium.util.visible import shorten
from gymposium_worlds.mail.scoring import UNKNOWN_SCORE, compute_f1, is_right, says_unknown
from gymposium_worlds.mail.showing import MAX_RESULTS, format_mail, format_results
from gymposium_worlds.mail.store import Query, Store, split_words

_MAX_WORDS = 100


def _describe_text(description: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": _MAX_WORDS, "description": description}


SEARCH = Tool(
    "search_inbox",
    "Find mails, the latest first, 10 at most. Shows id, date, address of the sender and subject of each. A mail must "
    "fit everything that is given.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {
            "keywords": {
                "type": "array",
                "items": {"type": "string", "maxLength": _MAX_WORDS},
                "maxItems": 10,
                "description": "Whole words that the subject or the text has, all of them. Words in one entry stand "
                "next to each other.",
            },
            "sender": _describe_text("A name or an address, or a part of whole words."),
            "recipient": _describe_text("A name or an address, or a part of whole words."),
            "sent_after": _describe_text("A day such as 2024-03-05: sent on this day or later."),
            "sent_before": _describe_text("A day such as 2024-03-05: sent on an earlier day."),
        },
    },
)
READ = Tool(
    "read_email",
    "Read a mail.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {"message_id": {"type": "string", "maxLength": 200, "description": "Its id, from a search."}},
        "required": ["message_id"],
    },
)
ANSWER = Tool(
    "return_final_answer",
    "Answer the question. This ends the task.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {
            "answer": {"type": "string", "maxLength": 1000, "description": "The answer and nothing else."},
            "sources": {
                "type": "array",
                "items": {"type": "string", "maxLength": 200},
                "maxItems": 50,
                "description": "Ids of the mails that show it.",
            },
        },
        "required": ["answer", "sources"],
    },
)

TOOLS = (SEARCH, READ, ANSWER)


@dataclass(frozen=True, slots=True)
class Task:
    """One question about one mailbox."""

    mailbox: int | str
    """Seed of a generated mailbox, or digest of the mails file."""
    kind: str
    """Kind of the question; `given` for a question from a file."""
    question: str
    answer: Mapping[str, Any]
    """`{"type": ..., "accepted": [...]}`, see `scoring.is_right`."""
    sources: tuple[str, ...]
    """Ids of mails that show the answer."""
    all_sources: bool
    """Whether the answer needs all sources. If not, each source alone shows it."""

    def dump(self) -> dict[str, Any]:
        """Return the task as JSON."""
        return {
            "mailbox": self.mailbox,
            "kind": self.kind,
            "question": self.question,
            "answer": dict(self.answer),
            "sources": list(self.sources),
            "all_sources": self.all_sources,
        }

    @classmethod
    def load(cls, value: Mapping[str, Any]) -> Task:
        """Return the task in a record. Raises `BadRecord`."""
        match value:
            case {
                "mailbox": int() | str() as mailbox,
                "kind": str(kind),
                "question": str(question),
                "answer": {"type": str(type_), "accepted": [*accepted]},
                "sources": [*sources],
                "all_sources": bool(all_sources),
            } if all(isinstance(one, str) for one in (*accepted, *sources)):
                answer = {"type": type_, "accepted": accepted}
                return cls(mailbox, kind, question, answer, tuple(sources), all_sources)
        raise BadRecord(f"The record's task is not a question about a mailbox: {shorten(value)}.")


_PEOPLE = ("sender", "recipient")
_DAYS = ("sent_after", "sent_before")


class _CallRefusal(Exception):
    """A rejected tool call. The message is a sentence for the caller."""


class MailWorld:
    """One question about a mailbox: tool results, the answer and its score."""

    def __init__(self, store: Store, task: Task, owner: str) -> None:
        """Start the question. `owner` says whose mailbox it is: `the mailbox of Nora Berg <nb1@arden.example>`."""
        self._store, self._task, self._owner = store, task, owner
        self._listed: set[str] = set()
        self._read: set[str] = set()
        self._searched = False
        self._answer: str | None = None
        self._sources: Sequence[str] = ()

    def opening(self, style: Style) -> str:
        count, first, last = self._store.get_span()
        if style == "compact":
            return f"{self._owner}, {first[:10]} to {last[:10]}\nquestion: {self._task.question}\n"
        return (
            f"You have {self._owner}: {count:,} mails, sent from {first[:10]} to {last[:10]}.\n"
            f"Question: {self._task.question}\n"
        )

    async def call(self, call: Call) -> Result:
        try:
            match call.name:
                case "search_inbox":
                    return self._search(call.arguments)
                case "read_email":
                    return self._read_mail(call.arguments["message_id"])
        except _CallRefusal as refused:
            return Result(str(refused), error=True)
        self._answer, self._sources = call.arguments["answer"], call.arguments["sources"]
        return Result("The answer was taken.\n")

    def over(self) -> bool:
        return self._answer is not None

    def score(self) -> float:
        """Return 1 for a right answer, `UNKNOWN_SCORE` if it wrongly says unknown, and 0 for a wrong or missing
        answer."""
        if self._answer is None:
            return 0.0
        if is_right(self._answer, self._task.answer):
            return 1.0
        return UNKNOWN_SCORE if says_unknown(self._answer) else 0.0

    def report(self) -> Mapping[str, float]:
        """Return five figures from 0 to 1.

        - `exact`: the answer is right.
        - `unknown`: the answer says that the mailbox does not contain it.
        - `sources`: how well the cited sources match (`scoring.compute_f1`).
        - `found` and `read`: a search showed a right source, and the player read one. For questions without sources,
          the player searched the mailbox.

        The reward criterion `accuracy` is `exact`, and `efficiency` combines it with the number of decisions. `found`
        and `read` measure the completeness of the search, and `sources` whether a user can check the answer.
        """
        right, answered = set(self._task.sources), self._answer is not None
        return {
            "exact": float(answered and self.score() == 1.0),
            "unknown": float(says_unknown(self._answer or "")),
            "sources": answered * compute_f1(self._sources, self._task.sources, all_needed=self._task.all_sources),
            "found": float(bool(right & self._listed) if right else self._searched),
            "read": float(bool(right & self._read) if right else self._searched),
        }

    async def close(self) -> None:
        pass

    def _search(self, arguments: Mapping[str, Any]) -> Result:
        sender, recipient = (_parse_words(name, arguments[name]) if name in arguments else [] for name in _PEOPLE)
        sent_from, sent_before = (_parse_day(name, arguments[name]) if name in arguments else "" for name in _DAYS)
        keywords = [_parse_words("keywords", keyword) for keyword in arguments.get("keywords", ())]
        if not (keywords or sender or recipient or sent_from or sent_before):
            raise _CallRefusal("Give keywords, a sender, a recipient or a day.\n")
        found = self._store.search(Query(keywords, sender, recipient, sent_from, sent_before), MAX_RESULTS + 1)
        ids = [one.id for one in found[:MAX_RESULTS]]
        self._searched = True
        self._listed.update(ids)
        return Result(format_results(found), value=ids)

    def _read_mail(self, message_id: str) -> Result:
        mail = self._store.read(message_id)
        if mail is None:
            raise _CallRefusal(f"There is no mail with the id {message_id!r}.\n")
        self._read.add(message_id)
        return Result(format_mail(mail))


def _parse_words(name: str, text: str) -> list[str]:
    words = split_words(text)
    if not words:
        raise _CallRefusal(f"{name}: {text!r} contains no words. Give at least one word.\n")
    return words


def _parse_day(name: str, text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise _CallRefusal(f"{name}: {text!r} is not a day. Write it like 2024-03-05.\n")
    return text
