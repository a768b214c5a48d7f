"""The player `cfr-N`: in small games that hide something, nearly an equilibrium. It cannot be exploited for much, and
does not exploit anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gymposium.exact.equilibrium import average_policy
from gymposium.exact.policy import State
from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.reading import READERS, Reader


class CfrPlayer:
    """The average policy of N iterations of CFR+, computed at the first move and remembered from match to match.

    For zero-sum games of OpenSpiel with two seats, something hidden and at most 400,000 histories. It raises `TooLarge`
    with the reason elsewhere."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self, iterations: str | int) -> None:
        self.iterations = int(iterations)
        self.name = f"cfr-{self.iterations}"
        self._solved: dict[Game, Mapping[State, Mapping[int, float]]] = {}

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        found = self.distributions(asks)
        return [Reply(ask.rng.choices(one.moves, one.probabilities)[0]) for ask, one in zip(asks, found, strict=True)]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """The policy at each ask."""
        return [self._distribution(ask) for ask in asks]

    def _distribution(self, ask: Ask) -> MoveDistribution:
        solved = self._solved.get(ask.game)
        if solved is None:
            solved = self._solved[ask.game] = average_policy(ask.game, self.iterations)
        odds = solved[ask.seat, ask.view]
        probabilities = tuple(odds[action] for action in ask.legal_actions)
        return MoveDistribution(tuple(ask.legal_moves or ()), probabilities, legal_mass=1.0, samples=None)
