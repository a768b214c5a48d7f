"""Exact results of one policy against another, by traversal."""

from __future__ import annotations

from gymposium.analysis.exact.graph import OVER, Graph, Position, build_graph
from gymposium.analysis.exact.outcome import Outcome, Value
from gymposium.analysis.exact.policy import Policy, get_move_probabilities, tabulate_policy
from gymposium.errors import GymposiumError
from gymposium.games.protocol import CHANCE
from gymposium.match.failures import compute_forfeit_returns
from gymposium.players.distribution import MoveDistribution
from gymposium.players.random import RandomPlayer


def compute_value(policy: Policy, opponent: Policy | None = None) -> Value:
    """Return the exact result of `policy` against `opponent` (default: uniform random play) in each seat.

    Illegal replies forfeit, for both policies. For policies estimated from samples, the result is an estimate too.
    Raises `GymposiumError` if the policies are for different games or not tabulated for their seats."""
    other = tabulate_policy(policy.game, RandomPlayer()) if opponent is None else opponent
    if other.game != policy.game:
        raise GymposiumError(
            f"The policies are for different games, {policy.game.name} and {other.game.name}. Pass policies for the "
            "same game."
        )
    return Value((_compute_outcome(policy, other, 0), _compute_outcome(policy, other, 1)))


def _compute_outcome(policy: Policy, opponent: Policy, seat: int) -> Outcome:
    """Return the outcome of `policy` in `seat`. Probabilities are propagated from the first position to the last."""
    graph = build_graph(policy.game)
    reach = [0.0] * len(graph.positions)
    reach[0] = 1.0
    ends: list[tuple[Outcome, float]] = []
    for position, here in zip(graph.positions, reach, strict=True):  # a position comes before those it leads to
        if here == 0.0:
            continue
        odds = position.odds
        if position.seat == OVER:
            ends.append((Outcome.from_returns(position.returns, seat), here))
        elif position.seat != CHANCE:
            odds, forfeited = get_move_probabilities(
                _get_distribution(policy if position.seat == seat else opponent, position)
            )
            both = forfeited * _get_forfeit_probability(graph, position, opponent if position.seat == seat else policy)
            for loser, share in ((position.seat, forfeited - both / 2), (1 - position.seat, both / 2)):
                if share > 0.0:
                    returns = compute_forfeit_returns(graph.game, loser, position.returns)
                    ends.append((Outcome.from_returns(returns, seat, loser), here * share))
        for child, probability in zip(position.children, odds, strict=True):
            reach[child] += here * probability
    outcomes, weights = zip(*ends, strict=True)
    return Outcome.mean(outcomes, weights)


def _get_forfeit_probability(graph: Graph, position: Position, other: Policy) -> float:
    """Return the probability that the other seat's simultaneous reply is illegal.

    If both replies are illegal, each seat is equally likely to forfeit (`gymposium.match.failures.choose_forfeit`)."""
    return (
        get_move_probabilities(_get_distribution(other, graph.positions[position.children[0]]))[1]
        if position.joint
        else 0.0
    )


def _get_distribution(policy: Policy, position: Position) -> MoveDistribution:
    """Return a policy's distribution in a position. Raises `GymposiumError` if the seat to move was not tabulated."""
    distribution = policy.table.get((position.seat, position.view))
    if distribution is None:
        raise GymposiumError(
            f"The policy of {policy.player} has no moves for seat {position.seat} at {position.view!r}. Tabulate it "
            "for this seat."
        )
    return distribution
