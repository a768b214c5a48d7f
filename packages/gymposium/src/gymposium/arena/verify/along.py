"""Asking players again along a record: the driver plays the match, and whatever the record says was replied is what it
gets. A player that is asked again is asked with the same streams at the same places; what it replies now is held
against the record, and goes no further. So each reply is judged by itself."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.driver import Answer, Guard, PlayerFailure
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Player, Reply, Usage
from gymposium.reading import Reader
from gymposium.records import Record
from gymposium.watchdog import Watchdog

_GUARD = Guard()
"""Who really asks."""
_NOTHING = PlayerFailure("the record has no reply here", own=False)
_DIED = "its process ended ("
"""So begins what a tournament writes of a player that took its process down."""


@dataclass(slots=True, eq=False)
class Along:
    """A player as an entry describes it, in a match that is played along its record."""

    name: str
    style: Style
    reader: Reader
    deterministic: bool
    player: Player | None = None
    """Who is asked again; nobody where it is None."""

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Never called: a `Prompter` answers in its place."""
        raise TypeError(f"what {self.name} replied stands in the record")


class Script:
    """The answers of a record, seat by seat."""

    __slots__ = ("_left",)

    def __init__(self, record: Record) -> None:
        self._left: dict[int, deque[Answer]] = {seat: deque() for seat in range(len(record.players))}
        for turn in record.turns:
            if turn["seat"] in self._left:  # another is a difference from what is played
                self._left[turn["seat"]].append(_reply(turn))
        for seat, answer in silences(record):
            if seat in self._left:
                self._left[seat].append(answer)

    def next(self, seat: int) -> Answer:
        """What the seat answers now."""
        left = self._left[seat]
        return left.popleft() if left else _NOTHING


def silences(record: Record) -> list[tuple[int, Answer]]:
    """The seats that a record says gave no reply in the end, and what came instead."""
    answers: list[tuple[int, Answer]] = []
    for failure in record.ending.failures:
        seat = failure.seat or 0
        if failure.kind == "timed out":
            answers.append((seat, None))
        elif failure.kind == "out of context":
            answers.append((seat, Reply("", "context")))
        elif failure.kind == "crashed":
            answers.append((seat, PlayerFailure(failure.detail, own=True)))
    return answers


def needs_a_process(answer: Answer) -> bool:
    """Whether a player that answers so again would take this process down, or hold it up."""
    return answer is None or (isinstance(answer, PlayerFailure) and answer.text.startswith(_DIED))


def _reply(turn: Mapping[str, Any]) -> Reply:
    told, (prompt, reply) = turn.keys() & {"tokens", "seconds", "cost"}, turn.get("tokens", (None, None))
    usage = Usage(prompt, reply, turn.get("seconds", 0.0), turn.get("cost")) if told else None
    return Reply(turn["text"], "length" if turn["reading"] == "cut off" else "stop", None, turn.get("action"), usage)


@dataclass(slots=True)
class Prompter(Guard):
    """Gives the driver what stands in the records, and asks again those who are to be."""

    scripts: Mapping[str, Script]
    """By match."""
    differences: dict[tuple[str, int], str] = field(default_factory=dict)
    """By match and seat: how it replies differently now, the first time. It is not asked again in this match: what it
    remembers is no longer what it was."""
    asked: Counter[str] = field(default_factory=Counter)
    """Replies, by player."""
    same: Counter[str] = field(default_factory=Counter)
    """Those of them that came out as they stand in the record."""
    unreachable: dict[str, str] = field(default_factory=dict)
    """Why which players could not be asked in the end."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        assert isinstance(player, Along)
        recorded = [self.scripts[ask.key].next(ask.seat) for ask in asks]
        if player.player is not None:
            self._ask(player.player, asks, recorded)
        return recorded

    def _ask(self, player: Player, asks: Sequence[Ask], recorded: Sequence[Answer]) -> None:
        pairs = [(ask, answer) for ask, answer in zip(asks, recorded, strict=True) if self._may(ask, answer)]
        if not pairs or player.name in self.unreachable:
            return
        given = _GUARD.answers(player, [ask for ask, _ in pairs])
        for (ask, answer), now in zip(pairs, given, strict=True):
            if isinstance(now, PlayerFailure) and not now.own and getattr(player, "repeats", None) == "nearly":
                self.unreachable[player.name] = now.text  # a server is gone
                return
            self.asked[player.name] += 1
            if (how := difference(answer, now)) is None:
                self.same[player.name] += 1
            else:
                self.differences[ask.key, ask.seat] = f"seat {ask.seat} ({player.name}) {how}"

    def _may(self, ask: Ask, answer: Answer) -> bool:
        known = (ask.key, ask.seat) in self.differences
        return not known and answer is not _NOTHING and not needs_a_process(answer)


def difference(recorded: Answer, now: Answer) -> str | None:
    """In what a player's answer differs from the recorded one, as the end of a sentence; None where it does not.
    Whatever it raises confirms that it crashed: the words may be others on another machine."""
    if isinstance(recorded, Reply) and isinstance(now, Reply):
        if recorded.text == now.text and recorded.usage is now.usage is None and _plain(recorded) and _plain(now):
            return None  # nearly always, and thousands of times a second
        said, says = _said(recorded), _said(now)
        return None if said == says else f"{said}, but asked again {says}"
    if isinstance(recorded, Reply):
        return (
            f"{_said(recorded)}, but asked again fails: {now.text if isinstance(now, PlayerFailure) else 'no answer'}"
        )
    if isinstance(now, Reply):
        failed = "to have crashed" if isinstance(recorded, PlayerFailure) else "not to have answered in time"
        return f"is said {failed}, but asked again {_said(now)}"
    return None


def _plain(reply: Reply) -> bool:
    return reply.action is None and reply.finish_reason == "stop"


def _said(reply: Reply) -> str:
    """All of a reply that is recorded, in words."""
    if reply.finish_reason == "context":
        return "has no room to reply"
    said = f"replies {reply.text!r}" if reply.action is None else f"replies with action {reply.action}"
    cut_off = ", cut off" if reply.finish_reason == "length" else ""
    return f"{said}{cut_off}{_spent(reply.usage)}"


def _spent(usage: Usage | None) -> str:
    """What a reply took, as far as it is the same each time: its tokens, and whether time and cost are told at all."""
    if usage is None:
        return ""
    counted = (usage.prompt_tokens, usage.completion_tokens) != (None, None)
    tokens = f"{usage.prompt_tokens} tokens in, {usage.completion_tokens} out, " if counted else ""
    return f" ({tokens}its time told{'' if usage.cost is None else ', its cost too'})"
