"""The player `exact`: it knows what best play of both comes to, by minimax over all positions that can still come."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.exact.minimax import Minimax, children
from gymposium.exact.size import MOST_POSITIONS, TooLarge
from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.reading import READERS, Reader


class ExactPlayer:
    """Any move that keeps what the position is worth, each as likely; so it wins what is won, loses only what is lost
    against best play, and does not mind how long either takes. Positions are remembered from match to match.

    For games of two seats in turn with nothing hidden, no chance and at most 400,000 positions. It raises `TooLarge`
    with the reason elsewhere."""

    name = "exact"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self) -> None:
        self._solved: dict[Game, Minimax] = {}

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(ask.rng.choice(self._best(ask))) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """The same probability for each best move."""
        return [self._distribution(ask) for ask in asks]

    def _distribution(self, ask: Ask) -> MoveDistribution:
        best = self._best(ask)
        legal = tuple(ask.legal_moves or ())
        return MoveDistribution(legal, tuple((m in best) / len(best) for m in legal), legal_mass=1.0, samples=None)

    def _best(self, ask: Ask) -> list[str]:
        solved = self._solved.get(ask.game)
        if solved is None:
            solved = Minimax(ask.game, 0, MOST_POSITIONS)
            if ask.game.spec.utility != "zero_sum":
                raise TooLarge(f"exact does not play {ask.game.name}: what one seat gets is not what the other loses.")
            self._solved[ask.game] = solved
        _, (position,) = ask.sampler.worlds(1, ask.rng)
        worth = {move: solved.value(child) for move, child in children(position)}
        best = (max if ask.seat == 0 else min)(worth.values())
        return [move for move, value in worth.items() if value == best]
