"""Tasks about generated mailboxes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gymposium.errors import BadParameter, BadRecord
from gymposium.games.protocol import Style
from gymposium.tasks.tools import Tool
from gymposium.util.streams import Draw, derive_seed, stream
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.making.questions import KINDS_OF_QUESTIONS, draw_question
from gymposium_worlds.mail.making.templates import SPLITS, Split
from gymposium_worlds.mail.rules import RULES_COMPACT, format_generated_rules
from gymposium_worlds.mail.store import Store
from gymposium_worlds.mail.task import Task
from gymposium_worlds.mail.tools import TOOLS
from gymposium_worlds.mail.world import MailWorld

MAX_STORES = 64
"""Maximum mailboxes that a process keeps on disk."""
_MAILS_IN_ALL = 100_000
_MOST_MAILBOXES = 1_000


@dataclass(frozen=True)
class MailTasks:
    """Questions about generated mailboxes. Equal seeds have equal tasks.

    `train` and `test` share no mailboxes and no wordings.
    """

    mails: int = 200
    kinds: str = "all"
    split: Split = "train"
    max_calls: int = 10

    def __post_init__(self) -> None:
        parse_kinds(self.kinds)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return TOOLS

    @property
    def utility_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def mailboxes(self) -> int:
        """Number of mailboxes in a split: enough for 100,000 mails, but at most 1,000."""
        return min(_MOST_MAILBOXES, _MAILS_IN_ALL // self.mails)

    def rules(self, style: Style) -> str:
        return RULES_COMPACT if style == "compact" else format_generated_rules(self.max_calls)

    def task(self, seed: int) -> Mapping[str, Any]:
        number = len(SPLITS) * (derive_seed(seed, "mail", "mailbox") % self.mailboxes) + SPLITS.index(self.split)
        draw = Draw(stream(seed, "mail", "question"))
        asked = draw_question(make_mailbox(number, self.mails), parse_kinds(self.kinds), self.split, draw)
        return Task(number, asked.kind, asked.text, asked.answer, asked.sources, asked.all_sources).dump()

    async def open(self, task: Mapping[str, Any]) -> MailWorld:
        loaded = Task.load(task)
        if not isinstance(loaded.mailbox, int):
            raise BadRecord("The task is about a mailbox from a file, not about a generated one.")
        owner = make_mailbox(loaded.mailbox, self.mails).owner.header
        return MailWorld(_make_store(os.getpid(), loaded.mailbox, self.mails), loaded, f"the mailbox of {owner}")


@lru_cache(maxsize=MAX_STORES)
def _make_store(process: int, seed: int, mails: int) -> Store:
    """Return the mailbox on disk. A forked process makes its own."""
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
