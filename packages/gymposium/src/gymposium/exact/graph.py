"""All positions of a small game with two seats in turn, chance and hidden information included.

Where nothing is hidden, and all is paid at the end, a position is what is on the board, however it came about:
tic-tac-toe has 4,520 with a move to make instead of 294,778 histories. Elsewhere it is the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pyspiel

from gymposium.exact.size import MAX_POSITIONS, TooLarge
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import CHANCE, Event, Game

if TYPE_CHECKING:
    from collections.abc import Hashable

OVER = -2
"""The seat that is to move where a match has ended."""


@dataclass(frozen=True, slots=True)
class Position:
    """One position, and where it leads."""

    seat: int
    """Who is to move: a seat, `CHANCE` or `OVER`."""
    view: str
    """What a seat that is to move knows (`Match.view`)."""
    events: tuple[Event, ...]
    """A way to get there."""
    moves: tuple[str, ...]
    """The legal moves in the game's order, or the outcomes of chance."""
    odds: tuple[float, ...]
    """Of each outcome of chance; () for a seat's moves."""
    children: tuple[int, ...]
    """Where in the graph each of `moves` leads."""
    returns: tuple[float, ...]
    """What each seat has got so far."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A game's positions. The first is where a match begins, and each stands before those that it leads to."""

    game: OpenSpielGame
    positions: tuple[Position, ...]


@lru_cache(maxsize=4)
def graph_of(game: Game) -> Graph:
    """All positions of a game. Raises `TooLarge` with the reason where it cannot be traversed."""
    return _in_order(_Growing(_traversable(game)))


def _traversable(game: Game) -> OpenSpielGame:
    if not isinstance(game, OpenSpielGame):
        raise TooLarge(f"{game.name}: exact figures of a player are for games of OpenSpiel.")
    if game.seats != 2 or game.spec.dynamics != "sequential":
        raise TooLarge(f"{game.name}: exact figures of a player need two seats that move in turn.")
    kind = game.engine.get_type()
    if game.hides and not kind.provides_information_state_string:
        raise TooLarge(f"{game.name}: its engine cannot say what a seat knows of the whole match.")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise TooLarge(f"{game.name}: its engine draws chance itself and cannot list the outcomes.")
    return game


class _Growing:
    """Positions as they are found, breadth first."""

    def __init__(self, game: OpenSpielGame) -> None:
        self.game = game
        reward = game.engine.get_type().reward_model
        self._merges = not game.hides and reward == pyspiel.GameType.RewardModel.TERMINAL
        self._known: dict[Hashable, int] = {}
        self._waiting: list[tuple[pyspiel.State, tuple[Event, ...]]] = []
        self.positions: list[Position] = []
        self._place(game.start(), ())
        while len(self.positions) < len(self._waiting):
            self.positions.append(self._position(*self._waiting[len(self.positions)]))

    def _place(self, state: pyspiel.State, events: tuple[Event, ...]) -> int:
        """Where this state stands, or will."""
        seat = state.current_player()
        key = (seat, self.game.view_of(state, seat)) if self._merges and seat >= 0 else None
        if key in self._known:
            return self._known[key]
        if len(self._waiting) >= MAX_POSITIONS:
            raise TooLarge(f"{self.game.name} has more than {MAX_POSITIONS} positions.")
        if key is not None:
            self._known[key] = len(self._waiting)
        self._waiting.append((state, events))
        return len(self._waiting) - 1

    def _position(self, state: pyspiel.State, events: tuple[Event, ...]) -> Position:
        returns = tuple(state.returns())
        if state.is_terminal():
            return Position(OVER, "", events, (), (), (), returns)
        if state.is_chance_node():
            seat, view = CHANCE, ""
            outcomes = self.game.chances(state)
            actions, odds = [action for action, _ in outcomes], tuple(odds for _, odds in outcomes)
            moves = tuple(self.game.outcome(state, action) for action in actions)
        else:
            seat, odds = state.current_player(), ()
            view = self.game.view_of(state, seat)
            actions = state.legal_actions()
            names = self.game.names
            moves = tuple(self.game.name_moves(state, seat, actions) if names is None else [names[a] for a in actions])
        children = tuple(
            self._place(state.child(action), (*events, Event(seat, move)))
            for action, move in zip(actions, moves, strict=True)
        )
        return Position(seat, view, events, moves, odds, children, returns)


def _in_order(found: _Growing) -> Graph:
    """The positions renumbered so that each stands before those that it leads to."""
    sorter = TopologicalSorter({i: position.children for i, position in enumerate(found.positions)})
    try:
        order = [*sorter.static_order()][::-1]
    except CycleError as error:
        raise TooLarge(f"{found.game.name}: its positions come again within a match.") from error
    place = {old: new for new, old in enumerate(order)}
    return Graph(
        found.game,
        tuple(
            Position(p.seat, p.view, p.events, p.moves, p.odds, tuple(place[child] for child in p.children), p.returns)
            for p in (found.positions[old] for old in order)
        ),
    )
