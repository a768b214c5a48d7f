"""A guard between the driver and its players: an exception in a player costs that match alone.

Without a guard the exception ends all play, which helps while a player is being written. A tournament uses a guard.
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
"""Number of characters of a player's error that are kept."""


@dataclass(frozen=True, slots=True)
class PlayerFailure:
    """An error that a player raised instead of replying."""

    text: str
    """The error, on one line."""
    own: bool
    """True if the player is at fault: its seat forfeits. False if something it depends on failed, such as a server or
    the game's engine: the match breaks off without a result."""

    @classmethod
    def of(cls, error: BaseException, ask: Ask, player: Player) -> PlayerFailure:
        """The failure that this error means. An error of gymposium says what the user has to do before the player can
        answer, so the player is not at fault. A move that is illegal in a world that the player searches is its
        mistake."""
        if isinstance(error, EngineError):
            return cls(error.played.ending.detail, own=False)
        if tells_what_to_do(error):
            return cls(_line(f"seat {ask.seat} ({player.name}) could not be asked: {error}"), own=False)
        return cls(_line(f"{type(error).__name__}: {error}"), own=True)


Answer = Reply | PlayerFailure | None
"""The answer to one ask; None if the watchdog fired."""


class Guard:
    """Asks players, and turns their exceptions into answers."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        """Returns one answer for each ask, in order. If the player raises when it is asked for several, it is asked
        again for one at a time, with the random streams set back, so that each ask is answered as if it were alone."""
        before = [ask.rng.getstate() for ask in asks]
        try:
            replies = player.act(asks) if watchdog is None else watchdog.act(player, asks)
            if replies is None and watchdog is not None:
                return [None] * len(asks)
            return check_replies(player, replies, len(asks))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a third-party player may raise anything
            if len(asks) == 1:
                return [PlayerFailure.of(error, asks[0], player)]
        answers: list[Answer] = []
        for ask, state in zip(asks, before, strict=True):
            ask.rng.setstate(state)
            answers += self.answers(player, [ask], watchdog)
        return answers


def check_replies(player: Player, replies: Any, count: int) -> list[Answer]:
    """Returns the replies as a list. Raises `TypeError` unless they are `count` replies that can be read and
    recorded."""
    if not isinstance(replies, Sequence) or len(replies) != count:
        raise TypeError(f"player {player.name} was asked for {count} replies and gave {_kind(replies)}")
    for reply in replies:
        if wrong := _wrong(reply):
            raise TypeError(f"player {player.name} gave {wrong}")
    return list(replies)


def _wrong(reply: Any) -> str | None:
    if not isinstance(reply, Reply):
        return f"{_kind(reply)} where a Reply is wanted"
    text: Any = reply.text
    if not isinstance(text, str):
        return f"a Reply whose text is {_kind(text)}"
    if reply.finish_reason not in get_args(FinishReason):
        return f"a Reply with finish_reason {str(reply.finish_reason)!r}, which is not one of {get_args(FinishReason)}"
    if reply.action is not None and type(reply.action) is not int:
        return f"a Reply whose action is {_kind(reply.action)}, not an int"
    usage: Any = reply.usage
    if usage is not None:
        if not isinstance(usage, Usage):
            return f"a Reply whose usage is {_kind(usage)}"
        counts = [count for count in (usage.prompt_tokens, usage.completion_tokens) if count is not None]
        if any(type(count) is not int or count < 0 for count in counts):
            return "a Reply whose token counts are not counts"
        for name, amount in (("seconds", usage.seconds), ("cost", 0 if usage.cost is None else usage.cost)):
            if type(amount) not in (int, float) or not 0 <= amount < math.inf:
                return f"a Reply with {name}={amount!r} in its usage, which is not a number of 0 or more"
    return None


def _kind(what: object) -> str:
    number = f" of {len(what)}" if isinstance(what, Sequence) and not isinstance(what, str) else ""
    return f"a {type(what).__name__}{number}"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
