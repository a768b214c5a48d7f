"""2048 in words, on OpenSpiel's engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium import GameSpec
from gymposium.games.openspiel.adapter import OpenSpielGame, load_engine_game
from gymposium.games.pictures import Picture, draw_grid, draw_note, draw_table, draw_tile
from gymposium.games.protocol import Event, Style

_MOVES = ("up", "right", "down", "left")  # the engine's order
_UP, _RIGHT, _DOWN, _LEFT = range(4)
_ROW, _CELLS = 4, 16
_RULES = (
    "2048, played alone on a board of 4 rows and 4 columns. You choose a direction: up, right, down or left. All tiles "
    "slide that way as far as they can. Two tiles of equal value that meet merge into one of twice the value, once in "
    "a move: the merged tile does not merge again before the next. Of three equal tiles in a line the two nearest to "
    "the side that they slide to merge.\n"
    "You score the value of every tile that is made by merging. A move that would change nothing is not legal. After "
    "each move a new tile comes up in a random empty square: a 2 nine times in ten, otherwise a 4. At the start there "
    "are two such tiles.\n"
    "The game ends when you have made a tile of {max_tile}, when no move is legal, or after {most} moves. Make your "
    "score as high as you can.\n"
)


_LOOKS = (("card", "ink"), ("dark", "ink"), ("mark", "ink"), ("two", "square"), ("three", "square"), ("one", "square"))
"""Background and text colors of tiles. Each pair covers two powers of two; the last covers all higher ones."""
_TILES = {
    str(2**power): draw_tile(str(2**power), *_LOOKS[min((power - 1) // 2, len(_LOOKS) - 1)]) for power in range(1, 19)
}


class Wording2048:
    """Words for `2048`."""

    move_pattern = re.compile("|".join(_MOVES))
    names = _MOVES

    def __init__(self, max_tile: int) -> None:
        self._max_tile = max_tile

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"2048, up to a tile of {self._max_tile}\n"
        return _RULES.format(max_tile=self._max_tile, most=compute_max_moves(self._max_tile))

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        tiles = str(state).replace(" 0", " .").split()
        score = f"{state.player_return(seat):.0f}"
        if style == "compact":
            legal = " ".join([_MOVES[action] for action in state.legal_actions(seat)])
            return f"score {score}\n{_format_board(tiles, 1)}legal {legal or 'none'}\n"
        board = _format_board(tiles, max(map(len, tiles)))
        return f"Your score: {score}. The board, top row first, empty squares as dots:\n{board}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        rows = [row.split() for row in str(state).splitlines() if row.strip()]
        board = draw_grid([[tile if tile != "0" else "." for tile in row] for row in rows], _TILES)
        told = f"The board, row by row from the top: {'; '.join(map(' '.join, rows))}"
        score = draw_note(f"Score: {state.player_return(seat):.0f}")
        return Picture.from_parts(board, score, draw_table([_MOVES], places=True), told=told)


def _format_board(tiles: Sequence[str], width: int) -> str:
    row = " ".join([f"%{width}s"] * _ROW) + "\n"
    return row * _ROW % tuple(tiles)


_BESIDE = [(cell, cell + 1) for cell in range(_CELLS) if cell % _ROW < _ROW - 1]
_BELOW = [(cell, cell + _ROW) for cell in range(_CELLS - _ROW)]


class EngineState:
    """State of the engine with a complete list of legal moves.

    The engine (2048.cc in open_spiel 2.0.2, `DoesActionChangeBoard`) tests which moves would change the board without
    resetting the marks of just-merged tiles. So its legal actions omit a move that only merges into such a tile,
    although the engine plays this move correctly.
    """

    __slots__ = ("_legal", "_state")

    def __init__(self, state: pyspiel.State) -> None:
        self._state = state
        self._legal: list[int] | None = None
        """Cached legal moves in this position."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def __str__(self) -> str:
        return str(self._state)

    # Called at every decision. `__getattr__` would forward them too, but takes three times as long.

    def current_player(self) -> int:
        player: int = self._state.current_player()
        return player

    def is_chance_node(self) -> bool:
        chance: bool = self._state.is_chance_node()
        return chance

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes: list[tuple[int, float]] = self._state.chance_outcomes()
        return outcomes

    def action_to_string(self, player: int, action: int) -> str:
        text: str = self._state.action_to_string(player, action)
        return text

    def clone(self) -> EngineState:
        return EngineState(self._state.clone())

    def apply_action(self, action: int) -> None:
        self._state.apply_action(action)
        self._legal = None

    def legal_actions(self, *player: int) -> list[int]:
        if self._legal is None or any(player):
            actions: list[int] = self._state.legal_actions(*player)
            if len(actions) == len(_MOVES) or self._state.current_player() != 0 or any(player):
                return actions
            self._legal = sorted(self._find_merges().union(actions))
        return self._legal.copy()

    def _find_merges(self) -> set[int]:
        """Return the moves that merge adjacent equal tiles."""
        tiles = str(self._state).split()
        moves: set[int] = set()
        if any(tiles[a] == tiles[b] != "0" for a, b in _BESIDE):
            moves |= {_RIGHT, _LEFT}
        if any(tiles[a] == tiles[b] != "0" for a, b in _BELOW):
            moves |= {_UP, _DOWN}
        return moves


class EngineGame:
    """The engine's game, with states of class `EngineState`."""

    def __init__(self, engine: pyspiel.Game) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def new_initial_state(self) -> EngineState:
        return EngineState(self._engine.new_initial_state())


class Game2048(OpenSpielGame):
    """2048 with corrected engine bounds, and the score in its view."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Wording2048) -> None:
        super().__init__(spec, params, engine, words)
        max_tile: int = params["max_tile"]
        self.max_decisions = compute_max_moves(max_tile)
        # The engine's bound on the utility counts a single greatest tile (16 if max_tile is 8; random play reaches 44).
        # A tile t that grew from 2s has scored t·(log2 t - 1). Before the last move there are at most 16 tiles of half
        # max_tile, and the last move may merge all of them.
        half = max_tile // 2
        scored = _CELLS * half * (half.bit_length() - 2)
        self.utility_range = (0.0, float(scored + _CELLS // 2 * max_tile))

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        """Return the engine's board plus the score, which the board omits."""
        return f"{state.observation_string(seat)}{state.player_return(seat):.0f}"


def compute_max_moves(max_tile: int) -> int:
    """Return the limit on the number of moves in a match.

    The engine stops after 4·max_tile steps, counting the first two tiles and the tile after each move."""
    return 2 * max_tile - 1


def game(spec: GameSpec, params: Mapping[str, Any]) -> Game2048:
    """Make a game of 2048 that ends with the tile `max_tile`."""
    return Game2048(spec, params, EngineGame(load_engine_game("2048", params)), Wording2048(**params))
