"""What each decision of a player costs it against its best response."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gymposium.analysis.exact.gains import gains_of
from gymposium.analysis.exact.graph import Graph, graph_of
from gymposium.analysis.exact.policy import Policy, as_played
from gymposium.analysis.exact.response import BestResponse, answer
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
    gains = [gain for seat in (0, 1) for gain in _better_moves(graph, policy, response.policy, seat)]
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
        costs[share] = taken - answer(graph, changed, 1 - gain.seat).mean_return
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


def _better_moves(graph: Graph, policy: Policy, opponent: Policy, seat: int) -> Iterator[_Gain]:
    for gains in gains_of(graph, policy, opponent.table, seat, paid=seat).values():
        moves = gains.returns[:-1]
        size = max(moves) - gains.mean
        if size > ROUNDING:
            yield _Gain(seat, gains.first, moves.index(max(moves)), size)
