"""The coin game as a text game. Coins of either player's color count for both, and neither knows the other's color."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.boards import ORDER, describe_turn, format_legal, list_letters, space_cells
from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, draw_tile
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_MARKS = "xo"
_MOVES = ("up", "down", "left", "right", "stand")
_DRAWN = str.maketrans(" 01", f".{_MARKS}", "|")
"""Translation of the engine's board characters to ours."""


_PLAYERS = {"x": draw_disc("one", "x"), "o": draw_disc("two", "o")}


class CoinGame:
    """Wording for `coin_game` with two players."""

    move_pattern = re.compile("|".join(_MOVES))
    names = _MOVES

    def __init__(
        self, rows: int, columns: int, episode_length: int, num_coins_per_color: int, num_extra_coin_colors: int
    ) -> None:
        self.rows, self.columns, self.length = rows, columns, episode_length
        self.colors, self.coins = list_letters(2 + num_extra_coin_colors), num_coins_per_color
        self._setup = 2 + 2 + len(self.colors) * self.coins
        """Number of initial chance outcomes: two colors, two player positions, and one position per coin."""

    def count_moves(self, state: pyspiel.State) -> int:
        """Return the number of moves so far. The engine counts them but does not expose the count."""
        return int(state.move_number()) - self._setup

    def rules(self, seat: int, style: Style) -> str:
        last = self.colors[-1]
        if style == "compact":
            return (
                f"coin game, {self.length} moves in all in turn, x first, you are {_MARKS[seat]}; coins a to {last}, "
                f"walk onto them; moves up down left right stand\n"
                f"result of both: own^2 + other^2 - rest^2, the numbers of coins collected by either of you in your "
                f"colour, the other player's (hidden) and no one's\n"
            )
        return (
            f"The coin game on a grid of {self.rows} rows and {self.columns} columns. Coins lie on it in "
            f"{len(self.colors)} colours, named a to {last}, {self.coins} of each. You and the other player each have "
            f"a colour of your own, never the same, drawn at random. You are not told the other's. Where the coins and "
            f"players begin is random, too.\n"
            f"x and o take turns to move; x moves first. up, down, left and right go one square that way as the board "
            f"is drawn, stand stays. Whoever steps onto a coin collects it. A move off the board, or onto the square "
            f"of the other player, is allowed, but the player stays in place. The match ends after {self.length} moves "
            f"in all, counting both players'.\n"
            f"What counts is what you have collected together, whoever took it. Say that your colour was collected p "
            f"times, the other player's colour q times, and the colours that are nobody's r times in all. Then each of "
            f"you gets p*p + q*q - r*r: the same for both.\n"
            f"You are {_MARKS[seat]} and move {ORDER[seat]}. An empty square is shown as a dot.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        own, _, *lines = state.observation_string(seat).split("\n")
        counts = [line.split()[1:] for line in lines[:2]]
        board = "\n".join(lines[3 : 3 + self.rows]).translate(_DRAWN)
        color, made, over = self.colors[int(own)], self.count_moves(state), state.is_terminal()
        if style == "compact":
            taken = [" ".join(map("".join, zip(self.colors, counts[s], strict=True))) for s in (seat, 1 - seat)]
            end = f"result {int(state.player_return(seat))}\n" if over else ""
            return (
                f"your colour {color}, move {made}/{self.length}\n{board}\nyou {taken[0]}\nother {taken[1]}\n"
                f"{end}{format_legal(state, seat, self.names)}"
            )
        drawn = space_cells(board)
        mine, theirs = (
            ", ".join([f"{name} {number}" for name, number in zip(self.colors, counts[s], strict=True)])
            for s in (seat, 1 - seat)
        )
        end = f"The match is over. You both get {int(state.player_return(seat))}.\n" if over else ""
        return (
            f"You are {_MARKS[seat]}{describe_turn(state, seat)}. Your colour: {color}. Moves made: {made} of "
            f"{self.length}. The board:\n"
            f"{drawn}\nCollected by you: {mine}.\nCollected by the other player: {theirs}.\n{end}"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        lines = self.position(state, seat, "compact").splitlines()
        rows = lines[1 : 1 + self.rows]
        y, x = next((y, row.index(_MARKS[seat])) for y, row in enumerate(rows) if _MARKS[seat] in row)
        steps = {(x, y - 1): "up", (x, y + 1): "down", (x - 1, y): "left", (x + 1, y): "right", (x, y): "stand"}
        places = [[steps.get((i, j), "") for i in range(self.columns)] for j in range(self.rows)]
        coins = {color: draw_tile(color, "mark") for color in self.colors}
        board = draw_grid(rows, {**_PLAYERS, **coins}, places=places)
        mine, theirs = lines[1 + self.rows], lines[2 + self.rows]
        told = f"{lines[0]}; the board, row by row from the top: {' '.join(rows)}"
        return Picture.from_parts(board, draw_note(f"Y{lines[0][1:]}.\nCollected: {mine}; {theirs}."), told=told)


class CoinGameGame(OpenSpielGame):
    """The coin game with a sampler, and with a move count that the engine's view omits."""

    wording: CoinGame

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        words = CoinGame(**params)
        items, squares = 2 + len(words.colors) * words.coins, words.rows * words.columns
        if items > squares:
            raise BadParameter(
                f"Two players and {items - 2} coins do not fit on {squares} squares. Enlarge the board, or choose "
                "fewer "
                f"colors or coins."
            )
        super().__init__(spec, params, load_engine_game("coin_game", {**params, "players": 2}), words)
        # The engine's bound is the number of coins squared, as if all had one color (coin_game.cc, MaxUtility).
        most = min(words.coins, words.length)
        more = min(words.coins, words.length - most)
        bad = min((len(words.colors) - 2) * words.coins, words.length)
        self.utility_range = (float(-(bad**2)), float(most**2 + more**2))

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{super().render_view(state, seat)}\nmoves {self.wording.count_moves(state)}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redraw the partner's color. Nothing else is hidden, and no move depends on it."""
        history, other = match.state.history(), 1 - seat
        history[other] = rng.choice([c for c in range(len(self.wording.colors)) if c != history[seat]])
        return self.world(match, history, rng)


game = CoinGameGame
