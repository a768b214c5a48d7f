"""How one policy does against another, by traversal."""

from __future__ import annotations

from gymposium.errors import GymposiumError
from gymposium.exact.graph import OVER, graph_of
from gymposium.exact.outcome import Outcome, Value
from gymposium.exact.policy import Policy, State, as_played, tabulate
from gymposium.failures import forfeit_returns
from gymposium.games.protocol import CHANCE
from gymposium.players.distribution import MoveDistribution
from gymposium.players.random import RandomPlayer


def value(policy: Policy, opponent: Policy | None = None) -> Value:
    """How `policy` does against `opponent` (None: uniform random play) in each seat. Illegal replies of either
    forfeit. Of policies that were estimated this is an estimate.

    Raises `GymposiumError` where they are of different games, or were not tabulated for the seats that they take."""
    other = tabulate(policy.game, RandomPlayer()) if opponent is None else opponent
    if other.game != policy.game:
        raise GymposiumError(f"A policy for {policy.game.name} cannot meet one for {other.game.name}.")
    return Value((_outcome(policy, other, 0), _outcome(policy, other, 1)))


def _outcome(policy: Policy, opponent: Policy, seat: int) -> Outcome:
    """How `policy` does in `seat`. How likely each position is reached is carried from the first one on."""
    graph = graph_of(policy.game)
    reach = [0.0] * len(graph.positions)
    reach[0] = 1.0
    ends: list[Outcome] = []
    weights: list[float] = []

    def end(outcome: Outcome, weight: float) -> None:
        ends.append(outcome)
        weights.append(weight)

    for i, position in enumerate(graph.positions):
        here = reach[i]
        if here == 0.0:
            continue
        if position.seat == OVER:
            end(Outcome.of(position.returns, seat), here)
            continue
        if position.seat == CHANCE:
            odds = position.odds
        else:
            found = at(policy if position.seat == seat else opponent, (position.seat, position.view))
            odds, forfeited = as_played(found)
            if forfeited > 0.0:
                returns = forfeit_returns(graph.game, position.seat, position.returns)
                end(Outcome.of(returns, seat, position.seat), here * forfeited)
        for child, probability in zip(position.children, odds, strict=True):
            reach[child] += here * probability
    return Outcome.mean(ends, weights)


def at(policy: Policy, state: State) -> MoveDistribution:
    """What a policy does in a state that it can get into. Raises `GymposiumError` where nobody asked for the seat."""
    found = policy.table.get(state)
    if found is None:
        raise GymposiumError(
            f"The policy of {policy.player} says nothing of seat {state[0]} at {state[1]!r}: tabulate it for this seat."
        )
    return found
