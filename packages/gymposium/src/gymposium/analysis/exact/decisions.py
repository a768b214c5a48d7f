"""The cost of each of a player's decisions against its best response."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gymposium.analysis.exact.gains import compute_gains
from gymposium.analysis.exact.graph import Graph, build_graph
from gymposium.analysis.exact.policy import Policy, get_move_probabilities
from gymposium.analysis.exact.response import BestResponse, compute_seat_response
from gymposium.games.protocol import Event


@dataclass(frozen=True, slots=True)
class CostlyDecision:
    """A player's policy in one information state, and its cost."""

    seat: int
    view: str
    """The seat's view (`Match.view`)."""
    events: tuple[Event, ...]
    """Events of one match that leads to this state."""
    moves: tuple[str, ...]
    odds: tuple[float, ...]
    """Probability that the player plays each of `moves`."""
    forfeit: float
    """Probability of an illegal reply, which forfeits."""
    better: str
    """The move with the highest mean return against the best response."""
    share: float
    """Share of the other replies' probability that should move to `better`, the most helpful one of `SHARES`."""
    cost: float
    """Return per match that a refitted best response loses after the change, with the player in this seat.

    All other decisions stay the same, so the costs of several decisions do not add up."""


ROUNDING = 1e-12
SHARES = (0.25, 0.5, 1.0)


def list_costly_decisions(policy: Policy, response: BestResponse, most: int) -> list[CostlyDecision]:
    """Return a policy's most costly decisions, the costliest first.

    Up to `most` decisions are examined, in order of their possible gain against the current best response. Decisions
    that gain nothing against a refitted best response are omitted. Both policies must cover every state of the game."""
    graph = build_graph(policy.game)
    gains = [gain for seat in (0, 1) for gain in _find_better_moves(graph, policy, response.policy, seat)]
    gains.sort(key=lambda gain: (-gain.size, gain.seat, gain.first))
    taken = [response.value.seats[1 - seat].mean_return for seat in (0, 1)]
    found = [_evaluate_decision(graph, policy, gain, taken[gain.seat]) for gain in gains[:most]]
    return sorted((one for one in found if one.cost > ROUNDING), key=lambda decision: -decision.cost)


def _evaluate_decision(graph: Graph, policy: Policy, gain: _Gain, taken: float) -> CostlyDecision:
    """Return a decision and its cost. `taken` is the best response's return from this seat."""
    position = graph.positions[gain.first]
    state = (gain.seat, position.view)
    here = policy.table[state]
    odds, forfeit = get_move_probabilities(here)
    costs = {}
    for share in SHARES:
        legal = 1.0 - (1.0 - share) * forfeit
        moved = [(1.0 - share) * p + share * (m == gain.move) for m, p in enumerate(odds)]
        other = replace(here, probabilities=tuple(p / legal for p in moved), legal_mass=legal)
        changed = Policy(policy.game, policy.player, {**policy.table, state: other})
        costs[share] = taken - compute_seat_response(graph, changed, 1 - gain.seat).mean_return
    share = max(SHARES, key=lambda one: costs[one])
    better = position.moves[gain.move]
    return CostlyDecision(
        gain.seat, position.view, position.events, position.moves, odds, forfeit, better, share, costs[share]
    )


@dataclass(frozen=True, slots=True)
class _Gain:
    """A state where a different move gains against an unchanged opponent."""

    seat: int
    first: int
    """Graph index of one position in the state."""
    move: int
    size: float


def _find_better_moves(graph: Graph, policy: Policy, opponent: Policy, seat: int) -> Iterator[_Gain]:
    for gains in compute_gains(graph, policy, opponent.table, seat, paid=seat).values():
        moves = gains.returns[:-1]
        size = max(moves) - gains.mean
        if size > ROUNDING:
            yield _Gain(seat, gains.first, moves.index(max(moves)), size)
