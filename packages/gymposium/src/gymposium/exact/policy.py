"""A player's policy as a table: how likely it plays each move, in each position that it can get into."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gymposium.errors import GymposiumError
from gymposium.exact.graph import Graph, Position, graph_of
from gymposium.games.protocol import Game
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Distributes, MatchContext, Player
from gymposium.streams import stream

State = tuple[int, str]
"""A seat and what it knows (`Match.view`): one information state."""


class NoLegalMove(GymposiumError):
    """A policy is wanted over the legal moves alone, and never plays one somewhere."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a player does in a game, in the seats that were asked for. What its replies play beside legal moves
    forfeits the match, as in `on_illegal="forfeit"`."""

    game: Game
    player: str
    table: Mapping[State, MoveDistribution]
    """All information states that it can get into against any opponent."""

    @property
    def legal_mass(self) -> float:
        """The least share of replies that play a legal move, over all states."""
        return min((found.legal_mass for found in self.table.values()), default=1.0)

    @property
    def exact(self) -> bool:
        """Whether this is the player as it plays: computed, with a legal mass of 0.999 or more everywhere."""
        return all(found.exact for found in self.table.values())

    @property
    def forfeits(self) -> bool:
        """Whether some of its replies are no legal move."""
        return any(as_played(found)[1] > 0.0 for found in self.table.values())

    @property
    def estimated(self) -> bool:
        """Whether some of it was counted from samples."""
        return any(found.samples is not None for found in self.table.values())

    def restricted(self) -> Policy:
        """The same over the legal moves alone: no forfeits.

        Raises `NoLegalMove` where a state has no legal move of any probability: a greedy player's reply that is
        none."""
        for (seat, view), found in self.table.items():
            if not any(found.probabilities):
                raise NoLegalMove(
                    f"{self.player} never plays a legal move of {self.game.name} as seat {seat} at {view!r}, so there "
                    f"is no policy over legal moves alone. Take the policy as it plays."
                )
        table = {state: replace(found, legal_mass=1.0) for state, found in self.table.items()}
        return Policy(self.game, self.player, table)


def as_played(found: MoveDistribution) -> tuple[tuple[float, ...], float]:
    """How likely each legal move is played, and how likely none is. A legal mass can be above 1 by rounding."""
    total = math.fsum(found.probabilities)  # 0 where no legal move is ever played
    legal = min(1.0, found.legal_mass) if total else 0.0
    return tuple(legal * probability for probability in found.probabilities), 1.0 - legal


def tabulate(game: Game, player: Player, seats: Collection[int] = (0, 1), seed: int = 0) -> Policy:
    """The policy of a player in these seats of a small game. It is asked, in few large batches, for each position that
    it can get into, whatever its opponent does. What an estimate is counted from follows from `seed`.

    Raises `TooLarge` where the game cannot be traversed, and `GymposiumError` where the player cannot say how likely
    it plays a move, or this depends on more than the position."""
    graph = graph_of(game)
    if not isinstance(player, Distributes):
        raise GymposiumError(
            f"{player.name} does not say how likely it plays each move, so it has no exact figures: they are for "
            f"'random' and language models. Play matches instead."
        )
    table: dict[State, MoveDistribution] = {}
    for seat in seats:
        _tabulate(graph, player, seat, seed, table)
    return Policy(graph.game, player.name, table)


def _tabulate(graph: Graph, player: Distributes, seat: int, seed: int, table: dict[State, MoveDistribution]) -> None:
    seen: set[int] = set()
    ahead = [0]
    while ahead:
        held = _until(graph, seat, ahead, seen)
        unknown: dict[State, Ask] = {}
        for i in held:
            position = graph.positions[i]
            state = (seat, position.view)
            if state not in table and state not in unknown:
                unknown[state] = _ask(graph, position, f"exact-{seat}-{i}", seed)
        table.update(zip(unknown, _answers(player, [*unknown.values()]), strict=True))
        ahead = [child for i in held for child in chosen(graph.positions[i], table)]


def chosen(position: Position, table: Mapping[State, MoveDistribution]) -> list[int]:
    """Where the moves lead that a policy may play."""
    odds = table[position.seat, position.view].probabilities
    return [child for child, probability in zip(position.children, odds, strict=True) if probability > 0.0]


def _until(graph: Graph, seat: int, ahead: list[int], seen: set[int]) -> list[int]:
    """The positions from `ahead` on in which `seat` is next to move, whatever chance and its opponent do."""
    held = []
    while ahead:
        i = ahead.pop()
        if i in seen:
            continue
        seen.add(i)
        if graph.positions[i].seat == seat:
            held.append(i)
        else:
            ahead += graph.positions[i].children
    return sorted(held)


def _ask(graph: Graph, position: Position, key: str, seed: int) -> Ask:
    """What the driver would ask the seat to move in this position, at its first try. Each position has a seed of its
    own, so that the samples of one tell nothing of another's."""
    own_seed = stream(seed, position.seat, position.view).getrandbits(48)
    sitting = MatchContext(graph.game.load(position.events), key, own_seed)
    sitting.asked[position.seat] = sum(event.seat == position.seat for event in position.events)
    return sitting.ask(position.seat)


def _answers(player: Distributes, asks: Sequence[Ask]) -> Sequence[MoveDistribution]:
    answers = player.distributions(asks) if asks else ()
    for ask, answer in zip(asks, answers, strict=True):
        if list(answer.moves) != ask.legal_moves:
            raise ValueError(f"A distribution is over {answer.moves}, where the legal moves are {ask.legal_moves}.")
    return answers
