"""The watchdog: a wall-clock limit on players' answers.

Players are limited by simulations, tokens or nodes, which keeps matches reproducible. The watchdog is for faults such
as a stuck server or an endless loop. If it fires, the seat forfeits. The record stores this, because a seed cannot
reproduce it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait

from gymposium.errors import BadOption
from gymposium.players.asking import ask_player
from gymposium.players.protocol import Ask, Player, Reply

LONGEST = 1_000_000
"""Largest allowed limit per call, in seconds. It is more than eleven days."""


class Watchdog:
    """A limit on player calls: `seconds` times the number of asks.

    Python cannot stop a running call. So an overdue call is left to a daemon thread, and the player is not asked again
    before the call returns. Raises `BadOption` unless `seconds` is positive and at most `LONGEST`."""

    def __init__(self, seconds: float) -> None:
        given: object = seconds
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= LONGEST:
            raise BadOption(f"watchdog={seconds!r} must be a number of seconds greater than 0 and at most {LONGEST}.")
        self.seconds = seconds
        self._overdue: dict[int, threading.Thread] = {}

    def act(self, player: Player, asks: Sequence[Ask]) -> Sequence[Reply] | None:
        """Return the player's replies, or None on timeout. Raises any exception from the player."""
        limit = min(self.seconds * len(asks), threading.TIMEOUT_MAX)
        overdue = self._overdue.get(id(player))
        if overdue is not None:
            overdue.join(limit)
            if overdue.is_alive():
                return None
            del self._overdue[id(player)]
        done: Future[Sequence[Reply]] = Future()

        def answer() -> None:
            try:
                done.set_result(ask_player(player, asks))
            except BaseException as error:  # noqa: BLE001 - re-raised in the calling thread
                done.set_exception(error)

        thread = threading.Thread(target=answer, name=f"player {player.name}", daemon=True)
        thread.start()
        if not wait([done], limit).done:
            self._overdue[id(player)] = thread
            return None
        return done.result()
