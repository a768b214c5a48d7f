"""Players as `evaluate` seats them: watched, timed, and given up when nobody waits any more."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Concurrent, Player, Reply
from gymposium.reading import Reader
from gymposium_agents.futures import results


class GivenUp(GymposiumError):
    """Nobody waits for the match any more."""


class Watched:
    """Another player, with its replies kept and its time taken, that can be stopped from another thread."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self.reader: Reader = player.reader
        self.style: Style = player.style
        self.replies: list[Reply] = []
        self.calls = 0
        self.seconds = 0.0
        self._player = player
        self._given_up = False
        self._waiting: list[Future[Reply]] = []

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self._check()
        began = time.perf_counter()
        given = self._wait(self._player, asks) if isinstance(self._player, Concurrent) else self._player.act(asks)
        self.seconds += time.perf_counter() - began
        self.calls += len(asks)
        self.replies += given
        return given

    def give_up(self) -> None:
        """Let the match end: at once where it waits for a server, otherwise at the next decision."""
        self._given_up = True
        for future in self._waiting:
            future.cancel()

    def _wait(self, player: Concurrent, asks: Sequence[Ask]) -> list[Reply]:
        self._waiting = [player.submit(ask) for ask in asks]
        if self._given_up:  # in the meantime, with nothing to cancel then
            self.give_up()
        try:
            return results(self._waiting)
        except CancelledError:
            self._check()
            raise

    def _check(self) -> None:
        if self._given_up:
            raise GivenUp("Nobody waits for this match any more.")
