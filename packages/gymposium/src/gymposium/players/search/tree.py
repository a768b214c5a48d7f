"""Tree search over worlds: UCT where nothing is hidden, multi-observer information-set search elsewhere.

Each simulation takes one of the worlds, goes down a tree whose nodes are what a seat knows (so that equal
knowledge means equal play, whatever is hidden), adds one node, plays on at random, and credits every seat that
chose on the way with its own return. Seats that move at once choose apart (decoupled UCT). Later chance is
drawn anew in each simulation.

L. Kocsis and Cs. Szepesvári, Bandit based Monte-Carlo planning, 2006; P. I. Cowling, E. J. Powley and
D. Whitehouse, Information set Monte Carlo tree search, 2012 (MO-ISMCTS).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from gymposium.games.protocol import Match

EXPLORATION = 1.0
"""Weight of UCB1's second term, for returns scaled to [0, 1]."""


class _Node:
    """One seat's choice, as often as it was met with the same knowledge."""

    __slots__ = ("met", "moves", "totals", "untried", "visits")

    def __init__(self, moves: list[str], rng: random.Random) -> None:
        self.moves = moves
        self.met = 0
        self.visits = [0] * len(moves)
        self.totals = [0.0] * len(moves)
        self.untried = rng.sample(range(len(moves)), len(moves))

    def choose(self, low: float, high: float) -> int:
        """The index of the move to try next."""
        if self.untried:
            return self.untried.pop()
        scale = 1.0 / (high - low) if high > low else 0.0
        log_met = math.log(self.met)
        best, choice = -math.inf, 0
        for index, visits in enumerate(self.visits):
            value = (self.totals[index] / visits - low) * scale + EXPLORATION * math.sqrt(log_met / visits)
            if value > best:
                best, choice = value, index
        return choice


def search(worlds: Sequence[Match], seat: int, simulations: int, rng: random.Random) -> str:
    """The move of `seat` that `simulations` playouts, begun in `worlds` in turn, tried most often; of several, the one
    with the greatest mean return.

    Returns are scaled by the least and greatest that this search has met: a game's own bounds may be far away."""
    seats = worlds[0].game.seats
    nodes: dict[tuple[int, str], _Node] = {}
    low, high = [math.inf] * seats, [-math.inf] * seats
    for number in range(simulations):
        match = worlds[number % len(worlds)].fork(rng)
        path: list[tuple[_Node, int, int]] = []
        new = False
        while not new and (movers := match.to_move()):
            joint = {}
            for mover in movers:
                key = (mover, match.view(mover))
                node = nodes.get(key)
                if node is None:
                    node = nodes[key] = _Node(match.legal_moves(mover) or [], rng)
                    new = True
                choice = node.choose(low[mover], high[mover])
                path.append((node, choice, mover))
                joint[mover] = node.moves[choice]
            match.apply(joint)
        _play_out(match, rng)
        returns = match.returns()
        for mover, value in enumerate(returns):
            low[mover], high[mover] = min(low[mover], value), max(high[mover], value)
        for node, choice, mover in path:
            node.met += 1
            node.visits[choice] += 1
            node.totals[choice] += returns[mover]
    root = nodes[seat, worlds[0].view(seat)]
    best = max(range(len(root.moves)), key=lambda index: (root.visits[index], root.totals[index]))
    return root.moves[best]


def _play_out(match: Match, rng: random.Random) -> None:
    """To the end, uniformly at random."""
    draw = rng.random
    while movers := match.to_move():
        joint = {}
        for mover in movers:
            legal = match.legal_moves(mover) or []
            joint[mover] = legal[int(draw() * len(legal))]
        match.apply(joint)
