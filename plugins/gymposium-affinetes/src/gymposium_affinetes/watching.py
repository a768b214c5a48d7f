"""A wrapper for `evaluate`'s players: keeps their replies, measures their time, and can stop them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.players.asking import ask_player, blame_errors
from gymposium.players.protocol import Ask, Concurrent, Player, Reply
from gymposium.replies.reading import Reader
from gymposium_agents.engines.futures import wait_for_results


class WatchedPlayer:
    """A player that keeps its replies, measures its time, and can be stopped from another thread."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self.reader: Reader = player.reader
        self.style: Style = player.style
        self.replies: list[Reply] = []
        self.calls = 0
        self.seconds = 0.0
        self._player = player
        self._is_canceled = False
        self._waiting: list[Future[Reply]] = []

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self._check_canceled()
        began = time.perf_counter()
        player = self._player
        replies = self._await_replies(player, asks) if isinstance(player, Concurrent) else ask_player(player, asks)
        self.seconds += time.perf_counter() - began
        self.calls += len(asks)
        self.replies += replies
        return replies

    def give_up(self) -> None:
        """End the match with an error: at once if it waits for a server, otherwise at the next decision."""
        self._is_canceled = True
        for future in self._waiting:
            future.cancel()

    def _await_replies(self, player: Concurrent, asks: Sequence[Ask]) -> list[Reply]:
        try:
            with blame_errors(self._player):
                self._waiting = [player.submit(ask) for ask in asks]
                if self._is_canceled:  # give_up was called before anything could be canceled
                    self.give_up()
                return wait_for_results(self._waiting)
        except CancelledError:
            self._check_canceled()
            raise

    def _check_canceled(self) -> None:
        if self._is_canceled:
            raise GymposiumError("This match was canceled: its result is no longer needed.")
