"""Best responses to a policy, and its exploitability: the distance from an unexploitable policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gymposium.analysis.exact.graph import OVER, Graph, build_graph
from gymposium.analysis.exact.outcome import Value
from gymposium.analysis.exact.policy import Policy, State, get_move_probabilities
from gymposium.analysis.exact.value import compute_value
from gymposium.errors import GymposiumError
from gymposium.match.failures import compute_forfeit_returns
from gymposium.players.distribution import MoveDistribution


@dataclass(frozen=True, slots=True)
class BestResponse:
    """The opponent with the highest return against a policy, in each seat."""

    policy: Policy
    """The best response itself."""
    value: Value
    """The best response's result in each seat."""

    @property
    def exploitability(self) -> float:
        """Return the best response's mean return over both seats. It is 0 against an equilibrium of a zero-sum game.

        This is NashConv / 2 (Lanctot et al., 2017, A Unified Game-Theoretic Approach to Multiagent Reinforcement
        Learning, section 2).

        Raises `GymposiumError` if the game is not zero-sum."""
        game = self.policy.game
        if game.spec.utility != "zero_sum":
            raise GymposiumError(
                f"{game.name} is not zero-sum, so exploitability is undefined. Read the mean return from .value "
                "instead."
            )
        return self.value.mean.mean_return


def find_best_response(policy: Policy, held_out: Policy | None = None) -> BestResponse:
    """Return the deterministic policy with the highest mean return against `policy` in each seat.

    Of equally good moves, it plays the first. Illegal replies in `policy` count as forfeits. In states that `policy`
    never reaches, it responds as if `policy` rarely played random moves.

    A best response to an estimated policy also exploits the noise in its samples. So it is evaluated against
    `held_out`, the same player's policy from other samples (`tabulate` with another `seed`). That value estimates this
    response's return, which is at most the best response's.

    Raises `GymposiumError` for an estimated policy without `held_out`, and for a policy tabulated for only one seat."""
    if reason := find_response_problem(policy, held_out):
        raise GymposiumError(reason)
    graph = build_graph(policy.game)
    table: dict[State, MoveDistribution] = {}
    for seat in (0, 1):
        table |= compute_seat_response(graph, policy, seat).table
    response = Policy(policy.game, f"the best response to {policy.player}", table)
    return BestResponse(response, compute_value(response, held_out or policy))


def find_response_problem(policy: Policy, held_out: Policy | None = None) -> str | None:
    """Return why a best response to this policy cannot be computed, with the fix, or None if it can."""
    if policy.estimated and held_out is None:
        return (
            f"The policy of {policy.player} was estimated from samples, whose noise a best response would exploit. "
            f"Give a second one as held_out, tabulated with another seed, to value the response against."
        )
    if missing := {0, 1} - {seat for seat, _ in policy.table}:
        return f"The policy of {policy.player} has no moves of seat {min(missing)}: tabulate both seats."
    return None


def compute_exploitability(policy: Policy, held_out: Policy | None = None) -> float:
    """Return a policy's NashConv / 2 in a zero-sum game: 0 in equilibrium. Parameters and errors: `best_response`."""
    return find_best_response(policy, held_out).exploitability


@dataclass(frozen=True, slots=True)
class SeatResponse:
    """One seat's best response."""

    table: Mapping[State, MoveDistribution]
    """The response's move in each of the seat's information states."""
    worth: Mapping[State, tuple[float, ...]]
    """Mean return after each legal move in a state, if the best response is played afterwards."""
    unlikely: frozenset[State]
    """States that the other seat's policy never reaches."""
    mean_return: float


def compute_seat_response(graph: Graph, policy: Policy, seat: int) -> SeatResponse:
    """Compute a seat's best response by backward induction.

    In each information state it takes the best move on average. Positions are weighted by the probability that chance
    and `policy` reach them. If `policy` never reaches the state, only the positions that need the fewest never-played
    moves count. This is the limit of a policy that occasionally plays such moves."""
    positions = graph.positions
    worth, reach, forfeits = ([0.0] * len(positions) for _ in range(3))
    slips = [len(positions)] * len(positions)  # number of never-played moves on the way
    reach[0], slips[0] = 1.0, 0
    played = {state: get_move_probabilities(distribution) for state, distribution in policy.table.items()}
    odds: list[tuple[float, ...]] = []
    for i, position in enumerate(positions):
        here = position.odds
        if position.seat >= 0:
            even = (1.0 / len(position.moves),) * len(position.moves)
            if position.seat != seat:
                here, forfeits[i] = played.get((position.seat, position.view), (even, 0.0))
            else:
                here = (1.0,) * len(position.moves)
        odds.append(here)
        for child, p in zip(position.children, here, strict=True):
            slipped = slips[i] + (p == 0.0)
            if slipped < slips[child]:
                slips[child], reach[child] = slipped, 0.0
            if slipped == slips[child]:
                reach[child] += reach[i] * (p or 1.0)
    table: dict[State, MoveDistribution] = {}
    after: dict[State, tuple[float, ...]] = {}
    unlikely: set[State] = set()
    for group in graph.orders[seat]:
        first = positions[group[0]]
        if first.seat == OVER:
            worth[group[0]] = first.returns[seat]
        elif first.seat != seat:
            (i,) = group
            worth[i] = math.fsum(p * worth[child] for p, child in zip(odds[i], first.children, strict=True))
            if forfeits[i] > 0.0:
                worth[i] += forfeits[i] * compute_forfeit_returns(graph.game, first.seat, first.returns)[seat]
        else:
            fewest = min(slips[i] for i in group)
            likely = [i for i in group if slips[i] == fewest]
            gains = [
                math.fsum(reach[i] * worth[positions[i].children[move]] for i in likely)
                for move in range(len(first.moves))
            ]
            choice = gains.index(max(gains))
            weight = math.fsum(reach[i] for i in likely)
            table[seat, first.view] = _make_deterministic(first.moves, choice)
            after[seat, first.view] = tuple(gain / weight for gain in gains)
            if fewest:
                unlikely.add((seat, first.view))
            for i in group:
                worth[i] = worth[positions[i].children[choice]]
    return SeatResponse(table, after, frozenset(unlikely), worth[0])


def _make_deterministic(moves: tuple[str, ...], choice: int) -> MoveDistribution:
    return MoveDistribution(moves, tuple(float(i == choice) for i in range(len(moves))), legal_mass=1.0, samples=None)
