"""A player's policy as a table of move probabilities in each reachable position."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gymposium.analysis.exact.graph import Graph, Position, build_graph
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.players.asking import ask_distributions
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, DistributionPlayer, MatchContext, Player
from gymposium.util.streams import stream

State = tuple[int, str]
"""An information state: a seat and its view (`Match.view`)."""


class NoLegalMove(GymposiumError):
    """Raised if a policy cannot be restricted to legal moves, because some state has none with a probability above
    0."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A player's move probabilities, tabulated for one or both seats.

    Illegal replies forfeit the match, as with `on_illegal="forfeit"`."""

    game: Game
    player: str
    """Name of the player."""
    table: Mapping[State, MoveDistribution]
    """Distribution in each information state that the player can reach against any opponent."""

    @property
    def legal_mass(self) -> float:
        """Lowest probability of a legal reply over all states."""
        return min((distribution.legal_mass for distribution in self.table.values()), default=1.0)

    @property
    def exact(self) -> bool:
        """Whether the policy is exact: computed, with a legal mass of at least 0.999 in every state."""
        return all(distribution.exact for distribution in self.table.values())

    @property
    def forfeits(self) -> bool:
        """Whether some of the player's replies are illegal."""
        return any(get_move_probabilities(distribution)[1] > 0.0 for distribution in self.table.values())

    @property
    def estimated(self) -> bool:
        """Whether some distribution was estimated from samples."""
        return any(distribution.samples is not None for distribution in self.table.values())

    def restrict(self) -> Policy:
        """Return the policy restricted to legal moves, without forfeits.

        Raises `NoLegalMove` if a state has no legal move with a probability above 0, for example after a greedy
        player's illegal reply."""
        for (seat, view), distribution in self.table.items():
            if not any(distribution.probabilities):
                raise NoLegalMove(
                    f"{self.player} never plays a legal move of {self.game.name} as seat {seat} at {view!r}, so its "
                    f"policy cannot be restricted to legal moves. Use the unrestricted policy."
                )
        table = {state: replace(distribution, legal_mass=1.0) for state, distribution in self.table.items()}
        return Policy(self.game, self.player, table)


def get_move_probabilities(distribution: MoveDistribution) -> tuple[tuple[float, ...], float]:
    """Return the probability of each legal move, and of an illegal reply. Rounding can push a legal mass above 1."""
    total = math.fsum(distribution.probabilities)  # 0 if no legal move is ever played
    legal = min(1.0, distribution.legal_mass) if total else 0.0
    return tuple(legal * probability for probability in distribution.probabilities), 1.0 - legal


def tabulate_policy(game: Game, player: Player, seats: Collection[int] = (0, 1), seed: int = 0) -> Policy:
    """Return a player's policy in these seats of a small game.

    The player is queried, in a few large batches, in every position it can reach against any opponent. `seed` fixes the
    samples of an estimate. Raises `TooLarge` if the game cannot be traversed. Raises `GymposiumError` if the player
    does not know its move probabilities, or if they depend on more than the position."""
    graph = build_graph(game)
    asked = _require_distributions(player)
    table: dict[State, MoveDistribution] = {}
    for seat in seats:
        _tabulate_seat(graph, asked, seat, seed, table)
    return Policy(graph.game, player.name, table)


def complete_policy(policy: Policy, player: Player, seed: int = 0) -> Policy:
    """Extend a policy to every state of both seats, including those the player's own moves never reach.

    The player is queried there as in `tabulate`."""
    graph, asked = build_graph(policy.game), _require_distributions(player)
    unknown: dict[State, Ask] = {}
    for i, position in enumerate(graph.positions):
        state = (position.seat, position.view)
        if position.seat >= 0 and state not in policy.table and state not in unknown:
            unknown[state] = make_ask(graph, position, f"exact-{position.seat}-{i}", seed)
    answers = zip(unknown, ask_distributions(asked, [*unknown.values()]), strict=True)
    return Policy(policy.game, policy.player, {**policy.table, **dict(answers)})


def knows_probabilities(game: Game, player: Player) -> bool:
    """Return whether a player computes its move probabilities in a small game, instead of sampling them.

    One position is queried to find out."""
    if not isinstance(player, DistributionPlayer):
        return False
    graph = build_graph(game)
    first = next(position for position in graph.positions if position.seat >= 0)
    (found,) = ask_distributions(player, [make_ask(graph, first, "exact-first", 0)])
    return found.samples is None


def _require_distributions(player: Player) -> DistributionPlayer:
    """Return the player. Raises `GymposiumError` if it does not know its move probabilities."""
    if not isinstance(player, DistributionPlayer):
        raise GymposiumError(
            f"{player.name} does not report its move probabilities, so it has no exact figures. Use random, exact, "
            "cfr-N or a language model, or play matches instead."
        )
    return player


def _tabulate_seat(
    graph: Graph, player: DistributionPlayer, seat: int, seed: int, table: dict[State, MoveDistribution]
) -> None:
    """Add the seat's distributions to `table`."""
    visited: set[int] = set()
    ahead = [0]
    while ahead:
        decisions = _find_next_decisions(graph, seat, ahead, visited)
        unknown: dict[State, Ask] = {}
        for i in decisions:
            position = graph.positions[i]
            state = (seat, position.view)
            if state not in table and state not in unknown:
                unknown[state] = make_ask(graph, position, f"exact-{seat}-{i}", seed)
        table.update(zip(unknown, ask_distributions(player, [*unknown.values()]), strict=True))
        ahead = [
            child
            for position in (graph.positions[i] for i in decisions)
            for child, odds in zip(position.children, table[seat, position.view].probabilities, strict=True)
            if odds > 0.0
        ]


def _find_next_decisions(graph: Graph, seat: int, ahead: list[int], visited: set[int]) -> list[int]:
    """Return the positions after `ahead` where `seat` moves next, for all moves by chance and the opponent."""
    decisions = []
    while ahead:
        i = ahead.pop()
        if i in visited:
            continue
        visited.add(i)
        if graph.positions[i].seat == seat:
            decisions.append(i)
        else:
            ahead += graph.positions[i].children
    return sorted(decisions)


def make_ask(graph: Graph, position: Position, key: str, seed: int, *numbers: int) -> Ask:
    """Return the ask that the driver would first make in this position.

    Each position and each of `numbers` has a different seed, so samples are independent."""
    own_seed = stream(seed, position.seat, position.view, *numbers).getrandbits(48)
    context = MatchContext(graph.game.load(position.events), key, own_seed)
    context.asked[position.seat] = sum(event.seat == position.seat for event in position.events)
    return context.ask(position.seat)
