"""The player `random`."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.reading import READERS, Reader


class RandomPlayer:
    """A player of uniformly random legal moves, drawn from the seat's own stream."""

    name = "random"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions with the same probability for each legal move."""
        return [
            MoveDistribution(tuple(moves), (1.0 / len(moves),) * len(moves), legal_mass=1.0, samples=None)
            for moves in map(_legal, asks)
        ]

    def _choose(self, ask: Ask) -> str:
        moves = _legal(ask)
        return moves[int(ask.rng.random() * len(moves))]


def _legal(ask: Ask) -> list[str]:
    moves = ask.legal_moves
    if moves is None:
        raise GymposiumError(
            f"{ask.game.name} takes free text, so the random player cannot play it. A person can (gymposium play "
            f"{ask.game.name}), or a language model (lm:MODEL)."
        )
    return moves
