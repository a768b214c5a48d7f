"""The players who wait for a match: one that was made, a model that was loaded, is not made again for the next."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player

MOST = 4
"""Players who wait, whatever their names."""


class Bench:
    """Matches go on in threads of their own, and a player need not bear to be asked from two. So it sits in one match
    at a time; another match of the same opponent gets another one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[tuple[str, Player]] = []

    def take(self, texts: Sequence[str]) -> dict[str, Player]:
        """A player for each different text. Raises as `make_player` does."""
        return {text: self._waiting_for(text) or make_player(text) for text in dict.fromkeys(texts)}

    def give_back(self, players: dict[str, Player]) -> None:
        """They can play again; of too many those who have waited longest are let go."""
        with self._lock:
            self._waiting = [*self._waiting, *players.items()][-MOST:]

    def _waiting_for(self, text: str) -> Player | None:
        with self._lock:
            for place, (name, player) in enumerate(self._waiting):
                if name == text:
                    del self._waiting[place]
                    return player
        return None
