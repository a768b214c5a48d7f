"""Tasks about mails and questions from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gymposium.errors import BadParameter, BadRecord
from gymposium.games.protocol import Style
from gymposium.plugins.names import format_name, parse_name
from gymposium.tasks.tools import Tool
from gymposium.util.streams import derive_seed
from gymposium_worlds.mail.corpus import compute_digest, read_mails, read_questions
from gymposium_worlds.mail.rules import RULES_COMPACT, format_file_rules
from gymposium_worlds.mail.store import Store
from gymposium_worlds.mail.task import Task
from gymposium_worlds.mail.tools import TOOLS
from gymposium_worlds.mail.world import MailWorld


@dataclass(frozen=True)
class FileTasks:
    """Tasks from a file of questions about a file of mails. The files are read when the first task is made."""

    inbox: str
    questions: str
    max_calls: int = 10

    def __post_init__(self) -> None:
        """Check that both files are named, by paths that can be part of a game's name. Raises `BadParameter`."""
        for name, other in (("inbox", "questions"), ("questions", "inbox")):
            path = getattr(self, name)
            if not path:
                raise BadParameter(f"{other} needs {name}. Name both files, or neither.")
            _check_path(name, path)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return TOOLS

    @property
    def utility_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def rules(self, style: Style) -> str:
        return RULES_COMPACT if style == "compact" else format_file_rules(self.max_calls)

    def task(self, seed: int) -> Mapping[str, Any]:
        given = self._files.questions[derive_seed(seed, "mail", "given") % len(self._files.questions)]
        sources = tuple(given["sources"])
        return Task(self._files.digest, "given", given["question"], given["answer"], sources, all_sources=True).dump()

    async def open(self, task: Mapping[str, Any]) -> MailWorld:
        loaded = Task.load(task)
        if loaded.mailbox != self._files.digest:
            raise BadRecord(f"inbox={self.inbox}: the file differs from the one the match was recorded with.")
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
