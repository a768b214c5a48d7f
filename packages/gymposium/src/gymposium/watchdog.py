"""The wall-clock watchdog: a limit on how long players may take, apart from how strong they play.

Strength is bounded by simulations, tokens or nodes, so that a match repeats. The watchdog is for what
bounds nothing: a stuck server, an endless loop. Where it fires the seat forfeits and the record says so, since
no seed can make that happen again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue

from gymposium.errors import BadOption
from gymposium.players.protocol import Ask, Player, Reply


class Watchdog:
    """Gives a player `seconds` for each ask that it is handed, all together where it is handed many.

    Python cannot stop a call that is under way: an overdue one is left to a thread that nobody waits for when
    the program ends, and its player is not asked again before that call has returned."""

    def __init__(self, seconds: float) -> None:
        if not seconds > 0:
            raise BadOption(f"watchdog={seconds!r}: give a number of seconds greater than 0.")
        self.seconds = seconds
        self._overdue: dict[int, threading.Thread] = {}

    def act(self, player: Player, asks: Sequence[Ask]) -> Sequence[Reply] | None:
        """The player's replies, or None where it took too long. What the player raises is raised here."""
        limit = self.seconds * len(asks)
        overdue = self._overdue.get(id(player))
        if overdue is not None:
            overdue.join(limit)
            if overdue.is_alive():
                return None
            del self._overdue[id(player)]
        done: SimpleQueue[Sequence[Reply] | BaseException] = SimpleQueue()

        def answer() -> None:
            try:
                done.put(player.act(asks))
            except BaseException as error:  # noqa: BLE001 - handed over to whoever waits
                done.put(error)

        thread = threading.Thread(target=answer, name=f"player {player.name}", daemon=True)
        thread.start()
        try:
            replies = done.get(timeout=limit)
        except Empty:
            self._overdue[id(player)] = thread
            return None
        if isinstance(replies, BaseException):
            raise replies
        return replies
