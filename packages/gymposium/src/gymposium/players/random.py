"""The random player."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.reading import READERS, Reader


class RandomPlayer:
    """A legal move, uniformly at random, from the seat's own stream."""

    name = "random"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        moves = ask.legal_moves
        if moves is None:
            raise GymposiumError(
                f"{ask.game.name} takes free text, so the random player cannot play it. A person can (gymposium play "
                f"{ask.game.name}), or a language model (lm:MODEL)."
            )
        return moves[int(ask.rng.random() * len(moves))]
