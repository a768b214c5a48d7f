"""A guard between the driver and its players: what a player raises costs the match in which it raised, and no other.

Without a guard it ends all play, which is what somebody wants who writes a player. A tournament goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from gymposium.driver.result import EngineError
from gymposium.errors import tells_what_to_do
from gymposium.players.protocol import Ask, FinishReason, Player, Reply, Usage
from gymposium.watchdog import Watchdog

_LONGEST = 500
"""Characters of what a player raised that are kept."""


@dataclass(frozen=True, slots=True)
class PlayerFailure:
    """What came instead of a reply."""

    text: str
    """What was raised, on one line."""
    own: bool
    """Whether it is the player's own doing: its seat forfeits. Otherwise something failed that the player stands on, a
    server or the game's engine, and the match breaks off without a result."""

    @classmethod
    def of(cls, error: BaseException, ask: Ask, player: Player) -> PlayerFailure:
        """What gymposium raises says what somebody has to do before this player can answer; it says nothing of how the
        player plays. But a move that is illegal in a world of the player's own is the player's mistake."""
        if isinstance(error, EngineError):
            return cls(error.played.ending.detail, own=False)
        if tells_what_to_do(error):
            return cls(_line(f"seat {ask.seat} ({player.name}) could not be asked: {error}"), own=False)
        return cls(_line(f"{type(error).__name__}: {error}"), own=True)


Answer = Reply | PlayerFailure | None
"""What is handed to a match for one ask; None where the watchdog fired."""


class Guard:
    """Asks players so that each ask has an answer, whatever they raise."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        """One answer for each ask, in order. Where the player raises when it is asked for several, it is asked again
        for one after the other, each from where its stream was, so that the others answer as if they had been alone."""
        before = [ask.rng.getstate() for ask in asks]
        try:
            given = player.act(asks) if watchdog is None else watchdog.act(player, asks)
            if given is None and watchdog is not None:
                return [None] * len(asks)
            return checked(player, given, len(asks))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a stranger's player may raise
            if len(asks) == 1:
                return [PlayerFailure.of(error, asks[0], player)]
        found: list[Answer] = []
        for ask, state in zip(asks, before, strict=True):
            ask.rng.setstate(state)
            found += self.answers(player, [ask], watchdog)
        return found


def checked(player: Player, given: Any, count: int) -> list[Answer]:
    """What a player gave, where it is so many replies that can be read and recorded. Raises `TypeError` elsewhere."""
    if not isinstance(given, Sequence) or len(given) != count:
        raise TypeError(f"player {player.name} was asked for {count} replies and gave {_kind(given)}")
    for reply in given:
        if wrong := _wrong(reply):
            raise TypeError(f"player {player.name} gave {wrong}")
    return list(given)


def _wrong(reply: Any) -> str | None:
    if not isinstance(reply, Reply):
        return f"{_kind(reply)} where a Reply is wanted"
    text: Any = reply.text
    if not isinstance(text, str):
        return f"a Reply whose text is {_kind(text)}"
    if reply.finish_reason not in get_args(FinishReason):
        return f"a Reply that ended by {str(reply.finish_reason)!r}, which is none of {get_args(FinishReason)}"
    if reply.action is not None and type(reply.action) is not int:
        return f"a Reply whose action is {_kind(reply.action)}, not an int"
    usage: Any = reply.usage
    if usage is not None:
        if not isinstance(usage, Usage):
            return f"a Reply whose usage is {_kind(usage)}"
        counts = [count for count in (usage.prompt_tokens, usage.completion_tokens) if count is not None]
        if any(type(count) is not int or count < 0 for count in counts):
            return "a Reply whose tokens are no counts"
        if type(usage.seconds) not in (int, float) or not 0 <= usage.seconds < math.inf:
            return "a Reply whose seconds are no time"
        if usage.cost is not None and (type(usage.cost) not in (int, float) or not 0 <= usage.cost < math.inf):
            return "a Reply whose cost is no amount"
    return None


def _kind(what: object) -> str:
    number = f" of {len(what)}" if isinstance(what, Sequence) and not isinstance(what, str) else ""
    return f"a {type(what).__name__}{number}"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
