"""A guard between the driver and its players. A player's exception affects only its match.

Without a guard, an exception stops all matches, which helps when developing a player. Tournaments use a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.errors import is_actionable
from gymposium.match.result import EngineError
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import ask_player
from gymposium.players.protocol import Ask, Player, Reply

_LONGEST = 500
"""Maximum number of characters kept from a player's error."""


@dataclass(frozen=True, slots=True)
class PlayerFailure:
    """An error that a player raised instead of replying."""

    text: str
    """The error, on one line."""
    own: bool
    """True if the player is at fault, so its seat forfeits.

    False if something that the player depends on failed, such as a server or the game's engine. Then the match breaks
    off without a result."""

    @classmethod
    def from_error(cls, error: BaseException, ask: Ask, player: Player) -> PlayerFailure:
        """Return the failure for this error.

        If a gymposium error tells the user what to do, the player is not at fault. An illegal move in a world that the
        player searches is the player's mistake."""
        if isinstance(error, EngineError):
            return cls(error.played.ending.detail, own=False)
        if is_actionable(error):
            return cls(_flatten(f"seat {ask.seat} ({player.name}) could not be asked: {error}"), own=False)
        return cls(_flatten(f"{type(error).__name__}: {error}"), own=True)


Answer = Reply | PlayerFailure | None
"""The answer to an ask; None if the watchdog fired."""


def collect_replies(player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> Sequence[Reply | None]:
    """Return one player's replies to its asks, in order. If the watchdog fired, each is None."""
    replies = ask_player(player, asks) if watchdog is None else watchdog.act(player, asks)
    return [None] * len(asks) if replies is None else replies


class Guard:
    """A wrapper that asks players and turns their exceptions into answers."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        """Return one answer per ask, in order.

        If the player raises on several asks, it is asked again one at a time, with the random streams reset. So each
        ask gets the answer it would get alone."""
        before = [ask.rng.getstate() for ask in asks]
        try:
            return list(collect_replies(player, asks, watchdog))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a third-party player may raise anything
            if len(asks) == 1:
                return [PlayerFailure.from_error(error, asks[0], player)]
        answers: list[Answer] = []
        for ask, state in zip(asks, before, strict=True):
            ask.rng.setstate(state)
            answers += self.answers(player, [ask], watchdog)
        return answers


def _flatten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
