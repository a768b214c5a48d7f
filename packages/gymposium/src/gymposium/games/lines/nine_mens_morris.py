"""Nine men's morris as a text game. Points are named by columns a … g and rows 1 … 7, with a1 at the bottom left.

The engine uses one action for placing or removing a man on a point, and the point names it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, OpenBoardGame, describe_result, format_legal
from gymposium.games.pictures import Picture, draw_disc, draw_points, find_last_turn
from gymposium.games.protocol import Event, Style

_COLORS = ("White", "Black")
_MARKS = "WB"
MEN, FLYING, TURNS = 9, 3, 200
"""Men per player, greatest number of men that may fly, and number of turns until a draw (nine_mens_morris.h)."""
_COLUMNS = "a b c  d  e f g"
"""Line of column names below the engine's board, which has points on every second line."""
_NUM_LINES = 13


class MorrisView(NamedTuple):
    """Parts of the engine's view."""

    lines: list[str]
    """Drawing of the board."""
    turns: int
    """Number of completed turns."""
    hand: tuple[int, int]
    """Number of men that each player still has to place."""
    men: tuple[int, int]
    """Total number of men that each player has, placed or not."""
    removing: bool
    """True if the player has closed a mill and must remove a man."""


def parse_view(view: str) -> MorrisView:
    *lines, _, _, turns, hand, men, removing = view.split("\n")
    return MorrisView(lines, int(turns.partition(": ")[2]), _parse_pair(hand), _parse_pair(men), bool(removing))


def _parse_pair(line: str) -> tuple[int, int]:
    _, white, black = line.rsplit(" ", 2)
    return int(white), int(black)


_DRAWN = {"W": draw_disc("white"), "B": draw_disc("black")}
_BOARD_LINES = (
    *("a7 d7 g7", "b6 d6 f6", "c5 d5 e5", "a4 b4 c4", "e4 f4 g4", "c3 d3 e3", "b2 d2 f2", "a1 d1 g1"),
    *("a7 a4 a1", "b6 b4 b2", "c5 c4 c3", "d7 d6 d5", "d3 d2 d1", "e5 e4 e3", "f6 f4 f2", "g7 g4 g1"),
)
"""Points on each line of the engine's board."""


class NineMensMorris:
    """Wording for `nine_mens_morris`."""

    def __init__(self, engine: pyspiel.Game) -> None:
        picture = parse_view(str(engine.new_initial_state())).lines
        self.places = [(y, x) for y, line in enumerate(picture) for x, mark in enumerate(line) if mark == "."]
        self.points = [f"{_COLUMNS[x]}{(_NUM_LINES + 1 - y) // 2}" for y, x in self.places]
        self.names = self.points + [start + end for start in self.points for end in self.points]
        self._labels = [f"{(_NUM_LINES + 1 - y) // 2} " if y % 2 == 0 else "  " for y in range(_NUM_LINES)]
        point = "|".join(self.points)
        self.move_pattern = re.compile(f"(?:{point})(?:{point})?")

    def rules(self, seat: int, style: Style) -> str:
        color = _COLORS[seat]
        if style == "compact":
            return (
                f"nine men's morris, points a1 bottom left to g7, a move is a point (to place a man, or to remove the "
                f"opponent's) or from and to; with three men fly; draw after {TURNS} turns of both players; "
                f"you are {color}\n"
            )
        return (
            f"Nine men's morris. The board has 24 points on three squares, one within another, whose sides are joined "
            f"at their middles; the lines of the picture tell which points are next to each other. White (W) and Black "
            f"(B) have {MEN} men each and take turns; White moves first.\n"
            f"First each player places all {MEN} men, one a turn, on empty points. After that a turn moves one of "
            f"your men along a line to an empty point next to it; with only three men left you may move to any empty "
            f"point.\n"
            f"Three men of one colour on one straight line, next to each other, are a mill: a1 d1 g1, or d7 d6 d5. "
            f"Whoever closes a mill, by placing or moving a man, then removes one of the opponent's men from the "
            f"board, as a second decision of the same turn: one that stands in no mill, or any if all stand in mills. "
            f"Two mills closed at once remove one man only. A mill may be opened and closed again.\n"
            f"Whoever has only two men left, counting those still to be placed, loses; so does whoever is to move and "
            f"cannot. After {TURNS} turns, counting both players', the game is a draw, unless the last one decides "
            f"it.\n"
            f"A point is named by its column (a to g, from the left) and its row (1 to 7, from the bottom): a1 is "
            f"bottom left. An empty point is shown as a dot. To place or to remove a man is written as its point: d2. "
            f"A move is written as the point that the man leaves and the point that it goes to: d2d3.\n"
            f"You play {color} and move {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view, player = parse_view(state.observation_string(seat)), state.current_player()
        lines, hand = view.lines, view.hand
        if style == "compact":
            on = {mark: [p for p, (y, x) in zip(self.points, self.places) if lines[y][x] == mark] for mark in _MARKS}
            return (
                f"turns {view.turns}\nW {' '.join(on['W']) or 'none'} hand {hand[0]}\n"
                f"B {' '.join(on['B']) or 'none'} hand {hand[1]}\n{'remove' if view.removing else 'move'}\n"
                f"{format_legal(state, seat, self.names)}"
            )
        drawn = "\n".join([label + line for label, line in zip(self._labels, lines)])
        turn = f", to {_describe_task(view, seat)}" if player == seat else ""
        over = f" The game is over: {describe_result(state, _COLORS)}." if player < 0 else ""
        board = [men - left for men, left in zip(view.men, hand)]
        return (
            f"You are {_COLORS[seat]}{turn}.{over} Turns so far: {view.turns}. Men to place: White {hand[0]}, Black "
            f"{hand[1]}. Men on the board: White {board[0]}, Black {board[1]}. The board:\n{drawn}\n  {_COLUMNS}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        lines = parse_view(state.observation_string(seat)).lines
        at = {point: (float("abcdefg".index(point[0])), 7.0 - int(point[1])) for point in self.points}
        men = {point: _DRAWN[lines[y][x]] for point, (y, x) in zip(self.points, self.places) if lines[y][x] in _MARKS}
        joined = [pair for line in _BOARD_LINES for pair in pairwise(line.split())]
        told = ", ".join([f"{lines[y][x]} {point}" for point, (y, x) in zip(self.points, self.places) if point in men])
        return Picture.from_parts(
            draw_points(at, joined, men, last=find_last_turn(events)), told=f"Men on the board: {told or 'none'}"
        )


def _describe_task(view: MorrisView, seat: int) -> str:
    if view.removing:
        return f"remove one of {_COLORS[1 - seat]}'s men"
    if view.hand[seat]:
        return "place a man"
    return "move a man" if view.men[seat] > FLYING else "move a man to any empty point"


class NineMensMorrisGame(OpenBoardGame):
    """Nine men's morris with a tensor of everything known; the engine's tensor shows only the board.

    The tensor has the engine's planes for White, Black, empty points and the two kinds of lines. Five constant planes
    follow:

    - the seat to move: 0 for White, 1 for Black
    - whether a man must be removed
    - the men that White still has to place
    - the men that Black still has to place
    - the turns so far

    Counts are fractions of their maximum."""

    num_facts = 5

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return str(state.observation_string(seat))

    def facts(self, state: pyspiel.State, seat: int) -> Sequence[float]:
        view = parse_view(state.observation_string(seat))
        white, black = view.hand
        return seat, view.removing, white / MEN, black / MEN, view.turns / TURNS


game = make_openspiel_factory("nine_mens_morris", NineMensMorris, NineMensMorrisGame)
