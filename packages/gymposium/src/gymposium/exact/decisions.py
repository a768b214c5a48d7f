"""What each decision of a player costs it against its best response."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gymposium.exact.graph import OVER, Graph, graph_of
from gymposium.exact.policy import Policy, as_played
from gymposium.exact.response import BestResponse, answer
from gymposium.failures import forfeit_returns
from gymposium.games.protocol import Event


@dataclass(frozen=True, slots=True)
class CostlyDecision:
    """What a player does in one information state, and what that costs."""

    seat: int
    view: str
    """What the seat knows (`Match.view`)."""
    events: tuple[Event, ...]
    """The events of one match that leads there."""
    moves: tuple[str, ...]
    odds: tuple[float, ...]
    """The probability of each of `moves`, as played."""
    forfeit: float
    """The probability of a reply that is no legal move."""
    better: str
    """The move with the greatest mean return against the best response."""
    share: float
    """How much of the probability of the other replies, if it moved to `better`, would help most: one of `SHARES`."""
    cost: float
    """How much less a best response would then get per match in which the player has this seat, though it is fitted
    anew. All other decisions stay as they are, so that the costs of several decisions do not add up."""


ROUNDING = 1e-12
SHARES = (0.25, 0.5, 1.0)


def decisions_of(policy: Policy, response: BestResponse, most: int) -> list[CostlyDecision]:
    """Return the decisions that cost a policy most, the costliest first.

    Those with the most to gain against the present best response are looked at, up to `most`. Those that would gain
    nothing against a best response that is fitted anew are left out. Both policies hold every state of the game
    (`completed`, and `best_response` to what it returns)."""
    graph = graph_of(policy.game)
    gains = [gain for seat in (0, 1) for gain in _gains(graph, policy, response.policy, seat)]
    gains.sort(key=lambda gain: (-gain.size, gain.seat, gain.first))
    taken = [response.value.seats[1 - seat].mean_return for seat in (0, 1)]
    found = [_decision(graph, policy, gain, taken[gain.seat]) for gain in gains[:most]]
    return sorted((one for one in found if one.cost > ROUNDING), key=lambda decision: -decision.cost)


def _decision(graph: Graph, policy: Policy, gain: _Gain, taken: float) -> CostlyDecision:
    """Return a decision and its cost; `taken` is what the best response to the policy gets from this seat."""
    position = graph.positions[gain.first]
    state = (gain.seat, position.view)
    here = policy.table[state]
    odds, forfeit = as_played(here)
    costs = {}
    for share in SHARES:
        legal = 1.0 - (1.0 - share) * forfeit
        moved = [(1.0 - share) * p + share * (m == gain.move) for m, p in enumerate(odds)]
        other = replace(here, probabilities=tuple(p / legal for p in moved), legal_mass=legal)
        changed = Policy(policy.game, policy.player, {**policy.table, state: other})
        costs[share] = taken - answer(graph, changed, 1 - gain.seat)[1]
    share = max(SHARES, key=lambda one: costs[one])
    better = position.moves[gain.move]
    return CostlyDecision(
        gain.seat, position.view, position.events, position.moves, odds, forfeit, better, share, costs[share]
    )


@dataclass(frozen=True, slots=True)
class _Gain:
    """A state in which another move gets more against an opponent that stays as it is."""

    seat: int
    first: int
    """A position of the state, by its index in the graph."""
    move: int
    size: float


def _gains(graph: Graph, policy: Policy, opponent: Policy, seat: int) -> Iterator[_Gain]:
    positions = graph.positions
    reach, worth, forfeits = ([0.0] * len(positions) for _ in range(3))
    reach[0] = 1.0
    odds: list[tuple[float, ...]] = []
    for i, position in enumerate(positions):
        here = position.odds
        if position.seat >= 0:
            side = policy if position.seat == seat else opponent
            here, forfeits[i] = as_played(side.table[position.seat, position.view])
        odds.append(here)
        for child, p in zip(position.children, here, strict=True):
            reach[child] += reach[i] * p
    states: defaultdict[str, list[int]] = defaultdict(list)
    for i in reversed(range(len(positions))):
        position = positions[i]
        worth[i] = math.fsum(p * worth[child] for p, child in zip(odds[i], position.children, strict=True))
        if position.seat == OVER:
            worth[i] = position.returns[seat]
        elif forfeits[i] > 0.0:
            worth[i] += forfeits[i] * forfeit_returns(graph.game, position.seat, position.returns)[seat]
        if position.seat == seat and reach[i] > 0.0:
            states[position.view].append(i)
    for group in states.values():
        moves = range(len(positions[group[0]].moves))
        then = [math.fsum(reach[i] * worth[positions[i].children[move]] for i in group) for move in moves]
        size = max(then) - math.fsum(reach[i] * worth[i] for i in group)
        if size > ROUNDING:
            yield _Gain(seat, group[0], then.index(max(then)), size)
