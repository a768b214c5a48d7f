"""All positions of a small game with two seats that move in turn, with or without chance and hidden information.

If nothing is hidden and rewards are paid at the end, a position is the state of the board, whichever moves led to it:
tic-tac-toe has 4,520 positions with a move to make instead of 294,778 histories. Otherwise a position is a history.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

import pyspiel

from gymposium.exact.size import MAX_POSITIONS, TooLarge
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import CHANCE, Event, Game

OVER = -2
"""Seat to move at the end of a match."""


@dataclass(frozen=True, slots=True)
class Position:
    """One position, and the positions that it leads to."""

    seat: int
    """Seat to move, or `CHANCE` or `OVER`."""
    view: str
    """What the seat to move knows (`Match.view`)."""
    events: tuple[Event, ...]
    """Events of one match that leads here."""
    moves: tuple[str, ...]
    """Legal moves in the game's order, or outcomes of chance."""
    odds: tuple[float, ...]
    """Probability of each outcome of chance; () for a seat's moves."""
    children: tuple[int, ...]
    """Index in the graph of the position after each of `moves`."""
    returns: tuple[float, ...]
    """Return of each seat so far."""


@dataclass(frozen=True, slots=True)
class Graph:
    """All positions of a game. A match begins at the first, and each stands before those that it leads to."""

    game: OpenSpielGame
    positions: tuple[Position, ...]


@lru_cache(maxsize=4)
def graph_of(game: Game) -> Graph:
    """Return all positions of a game. Raises `TooLarge` with the reason if it cannot be traversed."""
    if not isinstance(game, OpenSpielGame):
        raise TooLarge(f"{game.name}: exact figures of a player are for games of OpenSpiel.")
    if game.seats != 2 or game.spec.dynamics != "sequential":
        raise TooLarge(f"{game.name}: exact figures of a player need two seats that move in turn.")
    check_engine(game)
    positions = _Growing(game).positions
    sorter = TopologicalSorter({i: position.children for i, position in enumerate(positions)})
    try:
        order = [*sorter.static_order()][::-1]
    except CycleError as error:
        raise TooLarge(f"{game.name}: positions repeat within a match.") from error
    place = {old: new for new, old in enumerate(order)}
    in_order = (positions[old] for old in order)
    return Graph(
        game,
        tuple(replace(position, children=tuple(place[child] for child in position.children)) for position in in_order),
    )


def check_engine(game: OpenSpielGame) -> None:
    """Raise `TooLarge` if the engine cannot tell histories apart as seats do, or list the outcomes of chance."""
    kind = game.engine.get_type()
    hides = game.hides or kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    if hides and not kind.provides_information_state_string:
        raise TooLarge(f"{game.name}: its engine cannot say what a seat knows of the whole match.")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise TooLarge(f"{game.name}: its engine draws chance itself and cannot list the outcomes.")


class _Growing:
    """The positions of a game in the order in which a breadth-first traversal finds them."""

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
        """Return the index that the position of this state has or will have."""
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
