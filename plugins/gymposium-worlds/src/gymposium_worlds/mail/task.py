"""A match's task: a question, its hidden answer, and the mails that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymposium.errors import BadRecord


@dataclass(frozen=True, slots=True)
class Task:
    """One question about one mailbox."""

    mailbox: int | str
    """Seed of a generated mailbox, or digest of the file with the mails."""
    kind: str
    """Kind of the question; `given` for a question from a file."""
    question: str
    answer: Mapping[str, Any]
    """`{"type": ..., "accepted": [...]}`, see `scoring.is_right`."""
    sources: tuple[str, ...]
    """Ids of mails that show the answer."""
    all_sources: bool
    """Whether the answer needs all sources. If not, each of them shows it."""

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
        raise BadRecord("The task of the record is not a question about a mailbox.")
