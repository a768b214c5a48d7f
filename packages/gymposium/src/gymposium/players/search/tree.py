"""Tree search over worlds: UCT for perfect information, multi-observer information-set search for hidden information.

Each simulation takes one of the worlds and descends a tree whose nodes are the seats' views, so equal knowledge means
equal play. It adds one node, plays on at random, and credits each choice on the path with its seat's return. Seats that
move simultaneously choose independently (decoupled UCT). Each simulation redraws later chance.

L. Kocsis and Cs. Szepesvári, Bandit based Monte-Carlo planning, 2006; P. I. Cowling, E. J. Powley and
D. Whitehouse, Information set Monte Carlo tree search, 2012 (MO-ISMCTS).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, Self, TypeVar

from gymposium.errors import NoSampler

M = TypeVar("M")
"""Type of a move: text in a `Match`, numbers in faster worlds made for search."""


class Playable(Protocol[M]):
    """Protocol for worlds that search can play. Every `Match` with listed moves satisfies it."""

    def to_move(self) -> tuple[int, ...]: ...

    def legal_moves(self, seat: int) -> list[M] | None: ...

    def view(self, seat: int) -> str: ...

    def apply(self, moves: Mapping[int, M]) -> None: ...

    def returns(self) -> tuple[float, ...]: ...

    def fork(self, rng: random.Random) -> Self: ...


EXPLORATION = 1.0
"""Weight of UCB1's exploration term in play, for returns scaled to [0, 1]."""


class _Node(Generic[M]):
    """A tree node: one seat's decision with the same knowledge, over all simulations that reached it."""

    __slots__ = ("met", "moves", "totals", "untried", "visits")

    def __init__(self, moves: list[M], rng: random.Random) -> None:
        self.moves = moves
        self.met = 0
        self.visits = [0] * len(moves)
        self.totals = [0.0] * len(moves)
        self.untried = rng.sample(range(len(moves)), len(moves))

    def choose(self, low: float, high: float, exploration: float) -> int:
        """Return the index of the next move to try.

        It counts as tried immediately, because the same simulation may reach this node again."""
        choice = self.untried.pop() if self.untried else self._find_best(low, high, exploration)
        self.met += 1
        self.visits[choice] += 1
        return choice

    def take(self, move: M) -> int:
        """Return the index of this move, and count it as tried."""
        choice = self.moves.index(move)
        self.visits[choice] += 1
        return choice

    def find_most_tried(self) -> int:
        """Return the index of the most tried move. Ties go to the highest total."""
        return max(range(len(self.moves)), key=lambda index: (self.visits[index], self.totals[index]))

    def _find_best(self, low: float, high: float, exploration: float) -> int:
        """Return the index of the move with the highest UCB1 value."""
        scale = 1.0 / (high - low) if high > low else 0.0
        log_met = math.log(self.met)
        best, choice = -math.inf, 0
        for index, visits in enumerate(self.visits):
            value = (self.totals[index] / visits - low) * scale + exploration * math.sqrt(log_met / visits)
            if value > best:
                best, choice = value, index
        return choice


def search(worlds: Sequence[Playable[M]], seat: int, simulations: int, rng: random.Random) -> M:
    """Return the move that `seat` tried most often in `simulations` playouts, which start from `worlds` in turn.

    Ties go to the highest mean return. Returns are scaled by the minimum and maximum seen in this search, because a
    game's bounds may be much wider. Raises `NoSampler` if positions with equal views differ in their legal moves."""
    root = _simulate(worlds, seat, simulations, rng)
    return root.moves[root.find_most_tried()]


def count_visits(
    worlds: Sequence[Playable[M]], seat: int, simulations: int, rng: random.Random, exploration: float
) -> dict[M, int]:
    """Return `seat`'s visit count per move in the playouts of `search`.

    `exploration` is the exploration weight. Raises the errors of `search`."""
    root = _simulate(worlds, seat, simulations, rng, exploration=exploration)
    return dict(zip(root.moves, root.visits, strict=True))


def estimate_return(
    worlds: Sequence[Playable[M]], seat: int, simulations: int, rng: random.Random, first: M | None = None
) -> float:
    """Return the mean return of `seat` over the playouts of `search` that begin with the chosen move.

    With `first`, all playouts begin with that move, and the mean is over all of them. Raises the errors of `search`."""
    root = _simulate(worlds, seat, simulations, rng, first)
    tried = root.find_most_tried() if first is None else root.moves.index(first)
    return root.totals[tried] / root.visits[tried]


def _simulate(
    worlds: Sequence[Playable[M]],
    seat: int,
    simulations: int,
    rng: random.Random,
    first: M | None = None,
    exploration: float = EXPLORATION,
) -> _Node[M]:
    """Run all playouts and return the root node of `seat`. With `first`, the seat always begins with this move."""
    nodes: dict[tuple[int, str], _Node[M]] = {}
    least: dict[int, float] = {}
    most: dict[int, float] = {}
    for number in range(simulations):
        world = worlds[number % len(worlds)].fork(rng)
        path: list[tuple[_Node[M], int, int]] = []
        new = False
        while not new and (movers := world.to_move()):
            at_root, joint = not path, {}
            for mover in movers:
                key, legal = (mover, world.view(mover)), world.legal_moves(mover) or []
                node = nodes.get(key)
                if node is None:
                    node = nodes[key] = _Node(legal, rng)
                    new = not (at_root and first is not None)
                elif legal != node.moves:
                    raise NoSampler(
                        f"Search needs views that tell positions apart, but in this game seat {mover} has different "
                        "legal "
                        f"moves in positions with equal view(). Use the random player instead."
                    )
                if at_root and mover == seat and first is not None:
                    choice = node.take(first)
                else:
                    choice = node.choose(least.get(mover, 0.0), most.get(mover, 0.0), exploration)
                path.append((node, choice, mover))
                joint[mover] = node.moves[choice]
            world.apply(joint)
        _play_out(world, rng)
        returns = world.returns()
        for mover, value in enumerate(returns):
            least[mover], most[mover] = min(least.get(mover, value), value), max(most.get(mover, value), value)
        for node, choice, mover in path:
            node.totals[choice] += returns[mover]
    return nodes[seat, worlds[0].view(seat)]


def _play_out(world: Playable[M], rng: random.Random) -> None:
    """Play uniformly random moves to the end."""
    draw = rng.random
    while movers := world.to_move():
        joint = {}
        for mover in movers:
            legal = world.legal_moves(mover) or []
            joint[mover] = legal[int(draw() * len(legal))]
        world.apply(joint)
