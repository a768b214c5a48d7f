"""Best responses to a policy, and its exploitability: the distance from a policy that cannot be exploited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from gymposium.errors import GymposiumError
from gymposium.exact.graph import OVER, Graph, graph_of
from gymposium.exact.outcome import Value
from gymposium.exact.policy import Policy, State, as_played
from gymposium.exact.value import value
from gymposium.failures import forfeit_returns
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import CHANCE
from gymposium.players.distribution import MoveDistribution


@dataclass(frozen=True, slots=True)
class BestResponse:
    """The opponent that gets the most against a policy, in each seat."""

    policy: Policy
    """The best response itself."""
    value: Value
    """Result of the best response, by the seat that it takes."""

    @property
    def exploitability(self) -> float:
        """Mean return of the best response over both seats, which is 0 against an equilibrium of a zero-sum game:
        NashConv / 2 (Lanctot et al., 2017, A Unified Game-Theoretic Approach to Multiagent Reinforcement Learning,
        section 2).

        Raises `GymposiumError` if the game is not zero-sum."""
        game = self.policy.game
        if game.spec.utility != "zero_sum":
            raise GymposiumError(
                f"{game.name} is not zero-sum, so its policies have best responses but no exploitability."
            )
        return self.value.mean.mean_return


def best_response(policy: Policy, held_out: Policy | None = None) -> BestResponse:
    """Return the deterministic policy that gets the greatest mean return against `policy` in each seat.

    Of equal moves it takes the first. If something is hidden, OpenSpiel computes it
    (`open_spiel.python.algorithms.best_response`); otherwise illegal replies of `policy` count as forfeits.

    A best response to a policy that was estimated from samples exploits their noise. So it is valued against
    `held_out`, the same player's policy from other samples (another `seed` of `tabulate`). Its value there estimates
    what this response gets, which is at most what the best one gets.

    Raises `GymposiumError` for an estimated policy without `held_out`; if something is hidden, for a policy that does
    not always play legal moves (use `policy.restricted()`); and for a policy that was tabulated for one seat alone."""
    if reason := unanswerable(policy, held_out):
        raise GymposiumError(reason)
    graph = graph_of(policy.game)
    table: dict[State, MoveDistribution] = {}
    for seat in (0, 1):
        moves = {position.view: position.moves for position in graph.positions if position.seat == seat}
        table |= {(seat, view): _always(legal, 0) for view, legal in moves.items()}  # where `policy` never leads
        table |= (_over_information_states if graph.game.hides else _backwards)(graph, policy, seat)
    response = Policy(policy.game, f"the best response to {policy.player}", table)
    return BestResponse(response, value(response, held_out or policy))


def unanswerable(policy: Policy, held_out: Policy | None = None) -> str | None:
    """Return why a best response to this policy cannot be computed and what to do, or None if it can."""
    if policy.estimated and held_out is None:
        return (
            f"The policy of {policy.player} was estimated from samples, whose noise a best response would exploit. "
            f"Give a second one as held_out, tabulated with another seed, to value the response against."
        )
    if missing := {0, 1} - {seat for seat, _ in policy.table}:
        return f"The policy of {policy.player} has no moves of seat {min(missing)}: tabulate both seats."
    if graph_of(policy.game).game.hides and policy.forfeits:
        return (
            f"{policy.player} does not always play a legal move of {policy.game.name}, which hides something, so a "
            f"best response can be computed only to its legal moves. Use policy.restricted()."
        )
    return None


def exploitability(policy: Policy, held_out: Policy | None = None) -> float:
    """Return NashConv / 2 of a policy in a zero-sum game: 0 in equilibrium. Parameters and errors: `best_response`."""
    return best_response(policy, held_out).exploitability


def _backwards(graph: Graph, policy: Policy, seat: int) -> dict[State, MoveDistribution]:
    """Return the best response if nothing is hidden, computed from the ends backwards; OpenSpiel's algorithm would
    traverse all histories. Positions that the policy never reaches have no worth (NaN) and no response."""
    worth = [math.nan] * len(graph.positions)
    table: dict[State, MoveDistribution] = {}
    for i, position in reversed([*enumerate(graph.positions)]):
        then = [worth[child] for child in position.children]
        if position.seat == OVER:
            worth[i] = position.returns[seat]
        elif position.seat == CHANCE:
            worth[i] = math.fsum(p * w for p, w in zip(position.odds, then, strict=True))
        elif position.seat != seat:
            distribution = policy.table.get((position.seat, position.view))
            if distribution is not None:
                odds, forfeited = as_played(distribution)
                worth[i] = math.fsum(p * w for p, w in zip(odds, then, strict=True) if p > 0.0)
                worth[i] += forfeited * forfeit_returns(graph.game, position.seat, position.returns)[seat]
        elif not any(map(math.isnan, then)):
            worth[i] = max(then)
            table[seat, position.view] = _always(position.moves, then.index(worth[i]))
    return table


def _over_information_states(graph: Graph, policy: Policy, seat: int) -> dict[State, MoveDistribution]:
    """Return the best response if something is hidden, computed by OpenSpiel."""
    from open_spiel.python.algorithms.best_response import BestResponsePolicy  # imports in a quarter of a second

    moves = {position.view: position.moves for position in graph.positions if position.seat == seat}
    responder = BestResponsePolicy(graph.game.engine, seat, _Known(graph.game, policy.table))
    table = {}
    for state, worlds in responder.infosets.items():
        world = worlds[0][0]
        view = graph.game.view_of(world, seat)
        choice = world.legal_actions().index(responder.best_response_action(state))
        table[seat, view] = _always(moves[view], choice)
    return table


@dataclass(frozen=True, slots=True)
class _Known:
    """A policy's table in the form that OpenSpiel's algorithms read. Moves that are never played are left out, so that
    the positions behind them are not looked up."""

    game: OpenSpielGame
    table: Mapping[State, MoveDistribution]

    def action_probabilities(self, state: pyspiel.State) -> dict[int, float]:
        seat = state.current_player()
        odds = self.table[seat, self.game.view_of(state, seat)].probabilities
        return {action: p for action, p in zip(state.legal_actions(), odds, strict=True) if p > 0.0}


def _always(moves: tuple[str, ...], choice: int) -> MoveDistribution:
    return MoveDistribution(moves, tuple(float(i == choice) for i in range(len(moves))), legal_mass=1.0, samples=None)
