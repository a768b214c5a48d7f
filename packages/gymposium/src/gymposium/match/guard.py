"""A guard between the driver and its players: an exception in a player costs that match alone.

Without a guard the exception ends all play, which helps while a player is being written. A tournament uses a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.errors import tells_what_to_do
from gymposium.match.result import EngineError
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import ask_player
from gymposium.players.protocol import Ask, Player, Reply

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
            replies = ask_player(player, asks) if watchdog is None else watchdog.act(player, asks)
            return [None] * len(asks) if replies is None else list(replies)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a third-party player may raise anything
            if len(asks) == 1:
                return [PlayerFailure.of(error, asks[0], player)]
        answers: list[Answer] = []
        for ask, state in zip(asks, before, strict=True):
            ask.rng.setstate(state)
            answers += self.answers(player, [ask], watchdog)
        return answers


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
