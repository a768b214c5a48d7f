"""Tasks about generated mailboxes, and about mails and questions from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from gymposium import GameSpec
from gymposium.errors import BadParameter, BadRecord
from gymposium.games.protocol import Style
from gymposium.plugins.names import format_name, parse_name
from gymposium.tasks import Tasks, ToolGame, make_tool_game
from gymposium.tasks.tools import Tool
from gymposium.util.streams import Draw, derive_seed, stream
from gymposium.util.visible import quantity
from gymposium_worlds.mail.corpus import compute_digest, read_mails, read_questions
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.making.questions import KINDS_OF_QUESTIONS, SPLITS, Split, draw_question
from gymposium_worlds.mail.scoring import UNKNOWN_ANSWER, UNKNOWN_SCORE
from gymposium_worlds.mail.store import Store
from gymposium_worlds.mail.world import TOOLS, MailWorld, Task

_TOOLS = (
    "Mail. You answer one question about a mailbox. You find mails with search_inbox, read them with read_email, and "
    "answer with return_final_answer, which ends the task. You have {calls}.\n"
)
_MEANING = (
    "What mails mean: a mail speaks for its sender. Lines that begin with > are quotes of other mails; quotes and "
    "questions state nothing. If mails say different things, the latest one is right. For a number of people, the last "
    "word on each person counts. The first to say something is the sender of the earliest mail that says so. Some "
    "people are called by a short form of their first name: the name under a mail and the name after From: are the "
    "same person.\n"
)
_TYPES = (
    "How to write answers: people by first and family name; days like 2024-03-05 or 5 March 2024; amounts like 1,310 "
    "euros or 1310; numbers in digits; all else by its name in the mails. Write the answer and nothing else.\n"
)
_GIVEN = "How to write answers: as short as you can. Numbers in digits, days like 2024-03-05, and no further words.\n"
_SCORE = (
    f"If no mail shows the answer, answer: {UNKNOWN_ANSWER}\n"
    "As sources, give the ids of the mails that show the answer, or [] if there is none.\n"
    f"You score 1 for a right answer, {UNKNOWN_SCORE:g} for {UNKNOWN_ANSWER!r} if the mailbox shows the answer, and 0 "
    "for a wrong answer or none.\n"
)

RULES_COMPACT = f"mail: search_inbox, read_email, then return_final_answer; if no mail shows it: {UNKNOWN_ANSWER}\n"


def format_rules(style: Style, max_calls: int, meaning: str) -> str:
    """Return the rules of the game. `meaning` explains the meaning of mails and answers."""
    if style == "compact":
        return RULES_COMPACT
    return _TOOLS.format(calls=quantity(max_calls, "call")) + meaning + _SCORE


MAX_STORES = 64
"""Maximum number of mailboxes that a process keeps on disk."""
_MAILS_IN_ALL = 100_000
_MOST_MAILBOXES = 1_000


@dataclass(frozen=True)
class MailTasks:
    """Questions about generated mailboxes. Equal seeds give equal tasks.

    `train` and `test` share no mailboxes and no wordings.
    """

    mails: int = 200
    kinds: str = "all"
    split: Split = "train"
    max_calls: int = 10

    tools: ClassVar[tuple[Tool, ...]] = TOOLS
    utility_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        parse_kinds(self.kinds)

    @property
    def mailboxes(self) -> int:
        """Number of mailboxes in a split: enough for 100,000 mails, but at most 1,000."""
        return min(_MOST_MAILBOXES, _MAILS_IN_ALL // self.mails)

    def rules(self, style: Style) -> str:
        return format_rules(style, self.max_calls, _MEANING + _TYPES)

    def task(self, seed: int) -> Mapping[str, Any]:
        number = len(SPLITS) * (derive_seed(seed, "mail", "mailbox") % self.mailboxes) + SPLITS.index(self.split)
        draw = Draw(stream(seed, "mail", "question"))
        asked = draw_question(make_mailbox(number, self.mails), parse_kinds(self.kinds), self.split, draw)
        return Task(number, asked.kind, asked.text, asked.answer, asked.sources, asked.all_sources).dump()

    async def open(self, task: Mapping[str, Any]) -> MailWorld:
        loaded = Task.load(task)
        if not isinstance(loaded.mailbox, int):
            raise BadRecord("The task is about a mailbox from a file, not about a generated one. Name its inbox.")
        owner = make_mailbox(loaded.mailbox, self.mails).owner.header
        return MailWorld(_make_store(os.getpid(), loaded.mailbox, self.mails), loaded, f"the mailbox of {owner}")


@lru_cache(maxsize=MAX_STORES)
def _make_store(process: int, seed: int, mails: int) -> Store:
    """Create the mailbox on disk and return it. A forked process creates its own."""
    return Store(make_mailbox(seed, mails).mails)


def parse_kinds(text: str) -> tuple[str, ...]:
    """Parse kinds of questions such as `all` or `look_up+absent`. Raises `BadParameter`."""
    if text == "all":
        return tuple(KINDS_OF_QUESTIONS)
    kinds = tuple(kind for kind in KINDS_OF_QUESTIONS if kind in text.split("+"))
    if not kinds or "+".join(kinds) != text:
        order = ", ".join(KINDS_OF_QUESTIONS)
        raise BadParameter(f"kinds={text!r}: write all, or some of {order} in this order, with + between them.")
    if kinds == ("absent",):
        raise BadParameter(
            "kinds='absent': one answer would always be right. Name another kind as well: look_up+absent."
        )
    return kinds


@dataclass(frozen=True)
class FileTasks:
    """Tasks from a file of questions about a file of mails. The files are read when the first task is created."""

    inbox: str
    questions: str
    max_calls: int = 10

    tools: ClassVar[tuple[Tool, ...]] = TOOLS
    utility_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Check that both files are given, with paths that can be part of a game's name. Raises `BadParameter`."""
        for name, other in (("inbox", "questions"), ("questions", "inbox")):
            path = getattr(self, name)
            if not path:
                raise BadParameter(f"{other} needs {name}. Name both files, or neither.")
            _check_path(name, path)

    def rules(self, style: Style) -> str:
        return format_rules(style, self.max_calls, _GIVEN)

    def task(self, seed: int) -> Mapping[str, Any]:
        given = self._files.questions[derive_seed(seed, "mail", "given") % len(self._files.questions)]
        sources = tuple(given["sources"])
        return Task(self._files.digest, "given", given["question"], given["answer"], sources, all_sources=True).dump()

    async def open(self, task: Mapping[str, Any]) -> MailWorld:
        loaded = Task.load(task)
        if loaded.mailbox != self._files.digest:
            raise BadRecord(
                f"inbox={self.inbox}: the file differs from the one the match was recorded with. Restore that file."
            )
        return MailWorld(self._files.store, loaded, "a mailbox")

    @cached_property
    def _files(self) -> _LoadedFiles:
        return _LoadedFiles(self.inbox, self.questions)


class _LoadedFiles:
    """The parsed files."""

    def __init__(self, inbox: str, questions: str) -> None:
        mails = read_mails(inbox)
        self.questions = read_questions(questions, mails)
        self.digest = compute_digest(inbox)
        self.store = Store(mails)


def _check_path(name: str, path: str) -> None:
    try:
        kept = parse_name(format_name("mail", {name: path}))[1][name] == path
    except (BadParameter, KeyError):
        kept = False
    if not kept:
        raise BadParameter(
            f"{name}={path!r} cannot be part of a game's name, because the path has commas, line breaks, unmatched "
            "brackets or spaces at its ends. Rename the file, or link to it."
        )


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    """Make the game. Raises `BadParameter` if `inbox` is combined with parameters of generated mailboxes."""
    return make_tool_game(spec, params, _make_tasks(spec.drop_defaults(params), **params))


def _make_tasks(given: Mapping[str, Any], *, inbox: str, questions: str, max_calls: int, **generated: Any) -> Tasks:
    if not inbox and not questions:
        return MailTasks(max_calls=max_calls, **generated)
    if changed := [name for name in given if name in generated]:
        raise BadParameter(f"{changed[0]} applies only to generated mailboxes. Omit it when you name an inbox.")
    return FileTasks(inbox, questions, max_calls)
