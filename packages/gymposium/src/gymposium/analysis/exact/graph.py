"""Graph of all positions in a small two-seat game, with or without chance and hidden information.

If nothing is hidden and rewards come at the end, a position is the board's state, whichever moves led to it. So
tic-tac-toe has 4,520 positions with a move to make instead of 294,778 histories. Otherwise a position is a history.

Simultaneous moves are made one after the other. The second seat does not see the first seat's move (as in OpenSpiel's
`turn_based_simultaneous_game`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter

import pyspiel

from gymposium.analysis.exact.size import DEEPEST, MOST_POSITIONS, MOST_UNASKED, TooLarge
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import CHANCE, Event, Game
from gymposium.util.visible import quantity

OVER = -2
"""Value of `Position.seat` after the end of a match."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position and its successors."""

    seat: int
    """Seat to move, or `CHANCE` or `OVER`."""
    view: str
    """View of the seat to move (`Match.view`)."""
    events: tuple[Event, ...]
    """Events of one match that leads to this position. A pending simultaneous move is not included."""
    moves: tuple[str, ...]
    """Legal moves in the game's order, or chance outcomes."""
    odds: tuple[float, ...]
    """Probability of each chance outcome; () for a seat's moves."""
    children: tuple[int, ...]
    """Graph index of the position after each of `moves`."""
    returns: tuple[float, ...]
    """Each seat's return so far."""
    joint: bool = False
    """Whether this is the first of two simultaneous moves. Then the other seat moves in `children`."""


@dataclass(frozen=True, eq=False)
class Graph:
    """All positions of a game in topological order. A match begins at the first one."""

    game: OpenSpielGame
    positions: tuple[Position, ...]

    @cached_property
    def orders(self) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
        """Position groups for each seat, ordered for backward induction.

        Each group comes after all positions that can follow it. A group is one of the seat's information states, or a
        single position where the seat does not move."""
        return _order_backwards(self.positions, 0), _order_backwards(self.positions, 1)


@lru_cache(maxsize=2)
def build_graph(game: Game) -> Graph:
    """Return all positions of a game. Raises `TooLarge` with the reason if the game cannot be traversed."""
    traversed = _require_traversable(game)
    positions = _GraphBuilder(traversed, MOST_POSITIONS).positions
    sorter = TopologicalSorter({i: position.children for i, position in enumerate(positions)})
    try:
        order = [*sorter.static_order()][::-1]
    except CycleError as error:
        raise TooLarge(f"{game.name}: positions repeat within a match, so exact figures cannot be computed.") from error
    place = {old: new for new, old in enumerate(order)}
    in_order = (positions[old] for old in order)
    return Graph(
        traversed,
        tuple(replace(position, children=tuple(place[child] for child in position.children)) for position in in_order),
    )


def check_small(game: Game, most: int = MOST_UNASKED) -> None:
    """Raise `TooLarge` if the game cannot be traversed or has more than `most` positions, by default the maximum of
    unrequested traversals."""
    if reason := _find_size_problem(game, most):
        raise TooLarge(reason)


@lru_cache(maxsize=256)
def _find_size_problem(game: Game, most: int) -> str | None:
    """Return why a game is not traversed, or None. Cached, because boards check once per player."""
    try:
        _GraphBuilder(_require_traversable(game), most)
    except TooLarge as reason:
        return str(reason)
    return None


def _require_traversable(game: Game) -> OpenSpielGame:
    if game.seats != 2:
        raise TooLarge(f"{game.name} has {quantity(game.seats, 'seat')}, but exact figures need two seats.")
    if not isinstance(game, OpenSpielGame):
        raise TooLarge(f"{game.name}: exact figures are computed only for OpenSpiel games.")
    if game.max_decisions > DEEPEST:
        raise TooLarge(f"{game.name} has matches of more than {DEEPEST} moves.")
    check_engine(game)
    return game


def _order_backwards(positions: Sequence[Position], seat: int) -> tuple[tuple[int, ...], ...]:
    """Return the position groups of `seat` in backward order, for `Graph.orders`."""
    views = [position.view for position in positions if position.seat == seat]
    if len(set(views)) == len(views):  # nothing is hidden
        return tuple((i,) for i in reversed(range(len(positions))))
    depth = [0] * len(positions)  # number of the seat's earlier moves
    for i, position in enumerate(positions):
        for child in position.children:
            depth[child] = depth[i] + (position.seat == seat)
    states: list[dict[str, list[int]]] = [{} for _ in range(max(depth) + 1)]
    others: list[list[int]] = [[] for _ in states]
    for i, position in enumerate(positions):
        if position.seat == seat:
            states[depth[i]].setdefault(position.view, []).append(i)
        else:
            others[depth[i]].append(i)
    return tuple(
        group
        for alike, alone in zip(reversed(states), reversed(others), strict=True)
        for group in (*map(tuple, alike.values()), *((i,) for i in reversed(alone)))
    )


def check_engine(game: OpenSpielGame) -> None:
    """Raise `TooLarge` if the engine does not expose what seats know, or cannot list chance outcomes."""
    kind = game.engine.get_type()
    hides = game.hides or kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    if hides and not kind.provides_information_state_string:
        raise TooLarge(
            f"{game.name}: its engine does not expose what a seat knows, so exact figures cannot be computed."
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise TooLarge(f"{game.name}: its engine draws chance internally, so exact figures cannot be computed.")


class _GraphBuilder:
    """A depth-first builder of a game's positions. Depth-first saves memory, because engine states take most of it.

    Without merging, each position comes before those that follow it."""

    def __init__(self, game: OpenSpielGame, most: int) -> None:
        """Collect the positions. Raises `TooLarge` if there are more than `most`."""
        self.game = game
        self._most = most
        kind = game.engine.get_type()
        in_turn = kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        self._merges = not game.hides and in_turn and kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
        self._known: dict[Hashable, int] = {}
        self._waiting: list[tuple[int, _PendingPosition]] = []
        self._count = 0
        self._assign_index(_PendingPosition(game.start(), ()))
        found: dict[int, Position] = {}
        while self._waiting:
            index, here = self._waiting.pop()
            found[index] = self._build_position(here)
        self.positions = [found[index] for index in range(self._count)]

    def _assign_index(self, new: _PendingPosition) -> int:
        """Return the index of this position, assigning a new one if the position is new."""
        seat = new.state.current_player()
        key = (seat, self.game.render_view(new.state, seat)) if self._merges and seat >= 0 else None
        if key in self._known:
            return self._known[key]
        if self._count >= self._most:
            raise TooLarge(f"{self.game.name} has more than {self._most:,} positions, the limit for exact figures.")
        if key is not None:
            self._known[key] = self._count
        self._waiting.append((self._count, new))
        self._count += 1
        return self._count - 1

    def _build_position(self, here: _PendingPosition) -> Position:
        state, events = here.state, here.events
        returns = tuple(state.returns())
        if state.is_terminal():
            return Position(OVER, "", events, (), (), (), returns)
        if state.is_chance_node():
            outcomes = self.game.list_chances(state)
            moves = tuple(self.game.outcome(state, action) for action, _ in outcomes)
            children = (
                self._assign_index(_PendingPosition(state.child(action), (*events, Event(CHANCE, move))))
                for (action, _), move in zip(outcomes, moves, strict=True)
            )
            return Position(CHANCE, "", events, moves, tuple(odds for _, odds in outcomes), tuple(children), returns)
        joint = state.is_simultaneous_node()
        seats = [s for s in (0, 1) if self.game.legal(state, s)] if joint else [state.current_player()]
        seat = seats[len(here.first)]
        actions, names = self.game.legal(state, seat), self.game.names
        moves = tuple(self.game.name_moves(state, seat, actions) if names is None else [names[a] for a in actions])
        children = (
            self._assign_index(self._advance(here, (*here.first, (seat, action, move)), seats))
            for action, move in zip(actions, moves, strict=True)
        )
        view, another = self.game.render_view(state, seat), len(here.first) + 1 < len(seats)
        return Position(seat, view, events, moves, (), tuple(children), returns, joint=another)

    def _advance(
        self, here: _PendingPosition, chosen: tuple[tuple[int, int, str], ...], seats: Sequence[int]
    ) -> _PendingPosition:
        """Return the position after these moves. It is pending until all seats in `seats` have chosen."""
        if len(chosen) < len(seats):
            return _PendingPosition(here.state, here.events, chosen)
        events = (*here.events, *(Event(seat, move) for seat, _, move in chosen))
        if not here.state.is_simultaneous_node():
            return _PendingPosition(here.state.child(chosen[0][1]), events)
        state, actions = here.state.clone(), {seat: action for seat, action, _ in chosen}
        state.apply_actions([actions.get(seat, pyspiel.INVALID_ACTION) for seat in (0, 1)])
        return _PendingPosition(state, events)


@dataclass(frozen=True, slots=True)
class _PendingPosition:
    """A position to visit."""

    state: pyspiel.State
    events: tuple[Event, ...]
    first: tuple[tuple[int, int, str], ...] = ()
    """Seat, action and name of the first seat's simultaneous move, if the second seat's is still missing."""
