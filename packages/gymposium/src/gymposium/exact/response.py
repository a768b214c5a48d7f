"""How much the best opponent gets against a policy, and how far the policy is from one that nobody can exploit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gymposium.errors import GymposiumError
from gymposium.exact.graph import OVER, Graph, graph_of
from gymposium.exact.outcome import Value
from gymposium.exact.policy import Policy, State, as_played
from gymposium.exact.value import value
from gymposium.failures import forfeit_returns
from gymposium.games.protocol import CHANCE
from gymposium.players.distribution import MoveDistribution

if TYPE_CHECKING:
    import pyspiel

    from gymposium.games.openspiel.adapter import OpenSpielGame


@dataclass(frozen=True, slots=True)
class BestResponse:
    """The opponent that gets most against a policy, in either seat."""

    policy: Policy
    value: Value
    """How the best response does, by the seat that it takes."""

    @property
    def exploitability(self) -> float:
        """What the best response gets on average over both seats, less what it would get against a policy in
        equilibrium, which in a zero-sum game is nothing: NashConv / 2 (Lanctot et al., 2017, A Unified
        Game-Theoretic Approach to Multiagent Reinforcement Learning, section 2).

        Raises `GymposiumError` where the game is not zero-sum."""
        game = self.policy.game
        if game.spec.utility != "zero_sum":
            raise GymposiumError(f"{game.name} is not zero-sum: its policies have best responses, no exploitability.")
        return self.value.mean.mean_return


def best_response(policy: Policy, held_out: Policy | None = None) -> BestResponse:
    """The deterministic policy that gets the greatest mean return against `policy` in each seat; of equal moves it
    takes the first. Where something is hidden it is OpenSpiel's (`open_spiel.python.algorithms.best_response`);
    elsewhere illegal replies of `policy` count as the forfeits that they are.

    Of a policy that was estimated from samples it would be credited with their noise. So it is valued against
    `held_out`, the same player's policy from other samples (another `seed` of `tabulate`): what it gets there is an
    estimate of something that can be had for certain, of no more than the most.

    Raises `GymposiumError` for an estimated policy without another one; where something is hidden, for one that does
    not always play legal moves (take `policy.restricted()`); and for one that was tabulated for one seat alone."""
    if reason := unanswerable(policy, held_out):
        raise GymposiumError(reason)
    graph = graph_of(policy.game)
    table: dict[State, MoveDistribution] = {}
    for seat in (0, 1):
        moves = {position.view: position.moves for position in graph.positions if position.seat == seat}
        table |= {(seat, view): _always(legal, 0) for view, legal in moves.items()}  # where `policy` never gets to
        table |= (_over_information_states if graph.game.hides else _backwards)(graph, policy, seat)
    response = Policy(policy.game, f"the best response to {policy.player}", table)
    return BestResponse(response, value(response, held_out or policy))


def unanswerable(policy: Policy, held_out: Policy | None = None) -> str | None:
    """Why a best response to this policy cannot be found, and what to do; None where it can."""
    if policy.estimated and held_out is None:
        return (
            f"The policy of {policy.player} was estimated from samples, whose noise a best response would exploit. "
            f"Give a second one, tabulated with another seed, to hold the response against (held_out)."
        )
    if missing := {0, 1} - {seat for seat, _ in policy.table}:
        return f"The policy of {policy.player} says nothing of seat {min(missing)}: tabulate both seats."
    if graph_of(policy.game).game.hides and policy.forfeits:
        return (
            f"{policy.player} does not always play a legal move of {policy.game.name}, which hides something: a best "
            f"response is found to its legal moves alone. Take policy.restricted()."
        )
    return None


def exploitability(policy: Policy, held_out: Policy | None = None) -> float:
    """NashConv / 2 of a policy in a zero-sum game: 0 in equilibrium. Everything else as in `best_response`."""
    return best_response(policy, held_out).exploitability


def _backwards(graph: Graph, policy: Policy, seat: int) -> dict[State, MoveDistribution]:
    """The best response where nothing is hidden, from the ends on: OpenSpiel's would go through all histories. What the
    policy never gets into has no worth (NaN) and no response."""
    worth = [math.nan] * len(graph.positions)
    table: dict[State, MoveDistribution] = {}
    for i in range(len(graph.positions) - 1, -1, -1):
        position = graph.positions[i]
        then = [worth[child] for child in position.children]
        if position.seat == OVER:
            worth[i] = position.returns[seat]
        elif position.seat == CHANCE:
            worth[i] = math.fsum(p * w for p, w in zip(position.odds, then, strict=True))
        elif position.seat != seat:
            found = policy.table.get((position.seat, position.view))
            if found is not None:
                odds, forfeited = as_played(found)
                worth[i] = math.fsum(p * w for p, w in zip(odds, then, strict=True) if p > 0.0)
                worth[i] += forfeited * forfeit_returns(graph.game, position.seat, position.returns)[seat]
        elif not any(map(math.isnan, then)):
            worth[i] = max(then)
            table[seat, position.view] = _always(position.moves, then.index(worth[i]))
    return table


def _over_information_states(graph: Graph, policy: Policy, seat: int) -> dict[State, MoveDistribution]:
    from open_spiel.python.algorithms.best_response import BestResponsePolicy  # a quarter of a second

    views = {position.view: position.moves for position in graph.positions if position.seat == seat}
    responder = BestResponsePolicy(graph.game.engine, seat, _Known(graph.game, policy.table))
    table = {}
    for state, worlds in responder.infosets.items():
        world = worlds[0][0]
        view = graph.game.view_of(world, seat)
        choice = world.legal_actions().index(responder.best_response_action(state))
        table[seat, view] = _always(views[view], choice)
    return table


@dataclass(frozen=True, slots=True)
class _Known:
    """A table as OpenSpiel's algorithms read policies. Moves that are never played are left out, so that nobody asks
    about what is behind them."""

    game: OpenSpielGame
    table: Mapping[State, MoveDistribution]

    def action_probabilities(self, state: pyspiel.State) -> dict[int, float]:
        seat = state.current_player()
        odds = self.table[seat, self.game.view_of(state, seat)].probabilities
        return {action: p for action, p in zip(state.legal_actions(), odds, strict=True) if p > 0.0}


def _always(moves: tuple[str, ...], choice: int) -> MoveDistribution:
    return MoveDistribution(moves, tuple(float(i == choice) for i in range(len(moves))), legal_mass=1.0, samples=None)
