"""The players `mail-expert` and `mail-expert-shuffled`, which read the mails about a question's topic and answer.

They use only the tools' results. Like the checker (`gymposium_worlds.mail.proof`), they understand the questions and
sentences of generated mailboxes. `mail-expert` first reads the mails that could change the answer, so it solves every
task within 10 calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Repeats, Reply, check_only_game
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import Call, format_calls
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.proof import Checker, QuestionTarget, read_question
from gymposium_worlds.mail.scoring import UNKNOWN_ANSWER
from gymposium_worlds.mail.showing import NO_MAILS, parse_ids, parse_mail

_QUESTION = re.compile(r"^Question: (.+)$", re.MULTILINE)


@dataclass
class _Memory:
    """The player's memory during a match."""

    target: QuestionTarget
    mails: list[Mail] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """The ids of the mails to read, in order."""
    has_searched: bool = False
    """Whether a search has returned a result."""
    knows_names: bool = False
    """Whether the player has searched for a mail from the person in question. Such a mail shows the name that
    colleagues use."""


@dataclass(frozen=True, slots=True)
class MailExpert:
    """A rule-based player of `mail`."""

    name: str = "mail-expert"
    shuffles: bool = False
    """Whether to read search results in random order, drawn from the seat's stream. The player may then mistake an old
    value for the newest one, and demonstrates more ways to find an answer."""
    reader: Reader = READERS["move"]
    style: Style = "full"
    repeats: Repeats = "quickly"

    @property
    def deterministic(self) -> bool:
        return not self.shuffles

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for any game but `mail`."""
        check_only_game(self.name, "mail", game)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(format_calls([self._choose_call(ask)])) for ask in asks]

    def _choose_call(self, ask: Ask) -> Call:
        self.check_game(ask.game)
        text = ask.observe("full").text
        notes: _Memory | None = ask.memory.get("notes")
        if notes is None:
            notes = ask.memory["notes"] = _Memory(_find_target(ask, text))
        elif mail := parse_mail(text):
            notes.mails.append(mail)
        elif ids := parse_ids(text):
            notes.has_searched = True
            notes.unread = ids[:1] if notes.knows_names else self._order_ids(ids, notes.target, ask.rng)
        elif NO_MAILS in text:
            notes.has_searched = True
        if not notes.has_searched:  # at first, and after a failed call of another player in this seat
            return Call("search_inbox", {"keywords": [notes.target.phrase]})
        return _find_answer(notes) or _choose_step(notes) or _make_answer_call(UNKNOWN_ANSWER, ())

    def _order_ids(self, ids: list[str], asked: QuestionTarget, rng: Random) -> list[str]:
        """Return the ids from a search result in reading order."""
        if self.shuffles:
            return rng.sample(ids, len(ids))
        return ids[::-1] if asked.form == "first" else ids


def make_shuffled_expert() -> MailExpert:
    """Return the player `mail-expert-shuffled`, which reads search results in random order."""
    return MailExpert("mail-expert-shuffled", shuffles=True)


def _find_target(ask: Ask, text: str) -> QuestionTarget:
    found = _QUESTION.search(text)
    asked = found and read_question(found[1])
    if asked is None:
        raise GymposiumError(
            f"mail-expert answers only questions about generated mailboxes, so it cannot play {ask.game.name}. Choose "
            "another player."
        )
    return asked


def _find_answer(notes: _Memory) -> Call | None:
    """Return the answer if the mails read so far contain it. Mails that could change it have been read before."""
    if notes.target.form == "count" and notes.unread:
        return None
    findings = Checker(notes.mails).find_answers(notes.target)
    return _make_answer_call(findings[0].answer, findings[0].sources) if findings else None


def _choose_step(notes: _Memory) -> Call | None:
    """Return the next tool call, or None if nothing is left to do."""
    if notes.unread:
        return Call("read_email", {"message_id": notes.unread.pop(0)})
    if notes.knows_names or not _may_have_nickname(notes):
        return None
    notes.knows_names = True
    return Call("search_inbox", {"sender": notes.target.value})


def _may_have_nickname(notes: _Memory) -> bool:
    """Return whether mails name someone with the same family name as the person in question. A mail from that person
    shows whether the two are the same.
    """
    asked = notes.target
    if asked.form != "first" or not asked.noun:
        return False
    family = asked.value.split()[-1]
    return any(value.split()[-1] == family for value in Checker(notes.mails).list_values(asked))


def _make_answer_call(answer: str, sources: Sequence[str]) -> Call:
    return Call("return_final_answer", {"answer": answer, "sources": list(sources)})
