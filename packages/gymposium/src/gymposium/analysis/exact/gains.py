"""The contribution of each reply in a policy to the mean return, against an unchanged opponent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gymposium.analysis.exact.graph import OVER, Graph
from gymposium.analysis.exact.policy import Policy, State, get_move_probabilities
from gymposium.match.failures import compute_forfeit_returns
from gymposium.players.distribution import MoveDistribution


@dataclass(frozen=True, slots=True)
class Gains:
    """The replies in one information state, weighted by the probability of reaching it."""

    first: int
    """Graph index of one position in the state."""
    odds: tuple[float, ...]
    """Probability of each legal move, followed by that of an illegal reply."""
    returns: tuple[float, ...]
    """What matches through this state contribute to the mean return, for each reply in `odds`."""

    @property
    def mean(self) -> float:
        """Return the mean contribution over the replies, by their probability."""
        return math.fsum(p * gain for p, gain in zip(self.odds, self.returns, strict=True))

    @property
    def variance(self) -> float:
        """Return the variance of the contribution over the replies."""
        mean = self.mean
        return math.fsum(p * (gain - mean) ** 2 for p, gain in zip(self.odds, self.returns, strict=True))


def compute_gains(
    graph: Graph, policy: Policy, opponent: Mapping[State, MoveDistribution], seat: int, paid: int
) -> dict[State, Gains]:
    """Return the gains in each information state that a policy reaches in `seat`, as returns of the seat `paid`.

    Both policies cover every state of the game."""
    positions = graph.positions
    reach, worth, forfeits = ([0.0] * len(positions) for _ in range(3))
    reach[0] = 1.0
    odds: list[tuple[float, ...]] = []
    for i, position in enumerate(positions):
        here = position.odds
        if position.seat >= 0:
            table = policy.table if position.seat == seat else opponent
            here, forfeits[i] = get_move_probabilities(table[position.seat, position.view])
        odds.append(here)
        for child, p in zip(position.children, here, strict=True):
            reach[child] += reach[i] * p
    first: dict[State, int] = {}
    returns: dict[State, list[float]] = {}
    for i in reversed(range(len(positions))):
        position = positions[i]
        if position.seat == OVER:
            worth[i] = position.returns[paid]
            continue
        then = [worth[child] for child in position.children]
        worth[i] = math.fsum(p * w for p, w in zip(odds[i], then, strict=True))
        if position.seat >= 0:
            then.append(compute_forfeit_returns(graph.game, position.seat, position.returns)[paid])
            worth[i] += forfeits[i] * then[-1]
        if position.seat == seat and reach[i] > 0.0:
            state = (seat, position.view)
            before = returns.get(state, [0.0] * len(then))
            returns[state] = [gain + reach[i] * w for gain, w in zip(before, then, strict=True)]
            first.setdefault(state, i)
    return {state: Gains(i, (*odds[i], forfeits[i]), tuple(returns[state])) for state, i in first.items()}
