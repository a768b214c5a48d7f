"""Backgammon as a text game. As usual, each player numbers the points from their own side, 24 down to 1."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, make_openspiel_factory
from gymposium.games.openspiel.wording import match_view
from gymposium.games.pictures import Picture, draw_dice, draw_stacks
from gymposium.games.protocol import Event, Style

_MARKS = "xo"
_CHECKERS = 15
_POINTS = 24
_BAR, _PASS = 100, -1
"""The engine's numbers for places other than the points 0 … 23 (backgammon.h). x moves toward higher points, o toward
lower."""
_ORDERS = 26 * 26
"""The lowest action that plays the lower die first.

All actions below it play the higher die first (CheckerMovesToSpielMove)."""
_LOW = " low die first"
_VIEW = re.compile(r"Extra turn: (\d)\nDice: (?:(\d)(\d))?\nBar:.*\nScores, X: (\d+), O: (\d+)\n")

_ROLL = re.compile(r"\nDice: (\d*)\n")

_STEP = r"(?:bar|2[0-4]|1\d|[1-9])/(?:off|2[0-4]|1\d|[1-9])"
_PASSES = "".join([re.escape(chr(i + order)) for i in range(_ORDERS) if 25 in divmod(i, 26) for order in (0, _ORDERS)])
_SECOND = re.compile(f"(?:[^\x1e-\x23].)+|[\x1e-\x23][^{_PASSES}](.)|..?", re.DOTALL)
"""Pattern that splits a history into turns.

A turn is a roll with its decision. A double (chance outcomes 30 … 35) whose first decision played both checker moves
has a second decision."""


def count_turns(state: pyspiel.State) -> int:
    """Return the number of rolls so far.

    The engine counts turns for its limit but does not expose the count. In its history, rolls and moves have the same
    numbers."""
    history = array("i", state.history()).tobytes().decode("utf-32-le")
    seconds = len("".join(_SECOND.findall(history)))
    return (len(history) - seconds + 1) // 2


def _list_places(seat: int) -> list[int]:
    """Return the engine's place for each point 1 … 24, in the seat's numbering."""
    return [_POINTS - point if seat == 0 else point - 1 for point in range(1, _POINTS + 1)]


def _name_step(seat: int, place: int, number: int) -> str:
    start = _POINTS + 1 if place == _BAR else _POINTS - place if seat == 0 else place + 1
    end = start - number
    return f"{'bar' if place == _BAR else start}/{end if end > 0 else 'off'}"


_NOTE = (
    f" Where both dice could take off either of two checkers, the same move with{_LOW} behind it means that the lower "
    f"number is played first; it makes no difference."
)

_SCORING = {
    "winloss_scoring": "A win counts 1 and a loss -1.",
    "enable_gammons": "A win counts 1 and a loss -1, or 2 and -2 if the loser has borne off no checker (a gammon).",
    "full_scoring": (
        "A win counts 1 and a loss -1; 2 and -2 if the loser has borne off no checker (a gammon); 3 and -3 if besides "
        "one of the loser's checkers is on the bar or in the winner's home board (a backgammon)."
    ),
}


class Backgammon:
    """Wording for `backgammon`, without the doubling cube."""

    move_pattern = re.compile(f"pass|{_STEP}(?: {_STEP}(?:{_LOW})?)?")
    names = None

    def __init__(self, engine: pyspiel.Game, scoring_type: str, max_player_turns: int) -> None:
        self.scoring_type = scoring_type
        self.last_turn = max_player_turns + 1  # backgammon.cc ends the game when the turns exceed the limit
        self._names: dict[tuple[int, str], dict[int, str]] = {}
        """Cached action names by seat and engine roll, for positions where they depend only on these."""
        self._places = [_list_places(seat) for seat in (0, 1)]
        self._cells = [["  .", *(f"{mark}{n}".rjust(3) for n in range(1, _CHECKERS + 1))] for mark in _MARKS]

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        roll = match_view(_ROLL, state.observation_string(seat))
        names = self._names.setdefault((seat, roll[1]), {})
        return [names.get(action) or self._name_action(state, seat, action, names) for action in actions]

    def _name_action(self, state: pyspiel.State, seat: int, action: int, names: dict[int, str]) -> str:
        played = [m for m in state.spiel_move_to_checker_moves(seat, action) if m.pos != _PASS]
        name = " ".join([_name_step(seat, m.pos, m.num) for m in played]) or "pass"
        if name.count("off") < 2:
            names[action] = name
        elif action >= _ORDERS and action - _ORDERS in state.legal_actions(seat):
            return name + _LOW  # two actions with equal end points: either die bears off either checker
        return name

    def rules(self, seat: int, style: Style) -> str:
        mark, other = _MARKS[seat], _MARKS[1 - seat]
        if style == "compact":
            return (
                f"backgammon, you are {mark}, all points counted from your side, you move from 24 to 1, "
                f"your opponent from 1 to 24, a move is from/to for each checker in order of play, "
                f"draw after {self.last_turn} turns\n"
            )
        return (
            f"Backgammon. You play {mark}, your opponent {other}, with {_CHECKERS} checkers each. The {_POINTS} points "
            f"are counted from your side: your checkers move from {_POINTS} down to 1 and then off the board, your "
            f"opponent's the other way. Your home board is points 6 to 1, your opponent's 19 to {_POINTS}. The first "
            f"roll decides who begins, and is played by that player.\n"
            f"Each of the two dice moves one checker by its number, to a point that holds at most one opposing "
            f"checker. A single opposing checker there is hit and goes to the bar. As long as you have a checker on "
            f"the bar you must enter it before all else: a number n enters it on point {_POINTS + 1} - n. Once all "
            f"your checkers are in your home board you may bear off, from the point with the number rolled, or with a "
            f"larger number from your highest occupied point.\n"
            f"You must play both numbers if you can, in either order; if only one can be played, the larger one where "
            f"there is a choice. A double is played twice over: two checker moves, and if you could make both, a "
            f"second decision with two more.\n"
            f"Whoever first bears off all {_CHECKERS} checkers wins. {_SCORING[self.scoring_type]} A game that nobody "
            f"has won in {self.last_turn} turns, counting both players', is a draw and counts 0; turn {self.last_turn} "
            f"has no second decision.\n"
            f"A move is written as your checker moves in the order in which they are played, each as from/to, with a "
            f"space between: 13/7 8/7. A checker that moves twice is written twice: 24/18 18/14. Write bar for the "
            f"bar and off for off the board: bar/22, 5/off. A hit is not marked. Write pass where nothing can be "
            f"played.{_NOTE}\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = match_view(_VIEW, state.observation_string(seat))
        places, at, other = self._places[seat], state.board, 1 - seat
        bars, off = (at(seat, _BAR), at(other, _BAR)), (view[4 + seat], view[5 - seat])
        player, turn = state.current_player(), count_turns(state)
        dice = f"{view[2]} {view[3]}" if player >= 0 else "none"
        again = player >= 0 and view[1] == "1"
        if style == "compact":
            legal = ", ".join(self.moves(state, seat, state.legal_actions(seat)))
            return (
                f"turn {turn} {_describe_turn(player, seat)}\ndice {dice}{' again' if again else ''}\n"
                f"you {_list_checkers(at, seat, places)}bar {bars[0]} off {off[0]}\n"
                f"opponent {_list_checkers(at, other, places)}bar {bars[1]} off {off[1]}\nlegal {legal or 'none'}\n"
            )
        own, their = self._cells[seat], self._cells[other]
        cells = [own[n] if (n := at(seat, place)) else their[at(other, place)] for place in places]
        if player < 0:
            head = f"You are {_MARKS[seat]}. The game is over after {turn} turns."
        else:
            who = "to move" if player == seat else "your opponent is to move"
            head = (
                f"You are {_MARKS[seat]}, {who}. Turn {turn} of at most {self.last_turn}. "
                f"Dice: {dice}{', the second half of the double' if again else ''}."
            )
        top, low = cells[12:], cells[11::-1]
        return (
            f"{head} The board, with the number of checkers on each point:\n"
            f" 13  14  15  16  17  18 |  19  20  21  22  23  24\n"
            f"{' '.join(top[:6])} | {' '.join(top[6:])}\n"
            f"{' '.join(low[:6])} | {' '.join(low[6:])}\n"
            f" 12  11  10   9   8   7 |   6   5   4   3   2   1\n"
            f"On the bar: you {bars[0]}, your opponent {bars[1]}. "
            f"Borne off: you {off[0]}, your opponent {off[1]}.\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        view = match_view(_VIEW, state.observation_string(seat))
        places, at, colors = self._places[seat], state.board, ("one", "two")
        sides = (seat, 1 - seat)
        held = [[(colors[who], at(who, place)) for who in sides if at(who, place)] for place in places]
        points = [(str(point), *(one[0] if one else ("one", 0))) for point, one in enumerate(held, start=1)]
        bar = [(colors[who], at(who, _BAR)) for who in sides]
        off = [(colors[who], int(view[4 + who])) for who in sides]
        by, last = next(((by, move) for by, move in reversed(events) if by >= 0), (seat, ""))
        if by != seat:  # number the points from this seat's side
            last = re.sub(r"\d+", lambda point: str(_POINTS + 1 - int(point[0])), last)
        board = draw_stacks(points[12:], points[11::-1], bar, off, last=last)
        faces = view[2] + view[3] if state.current_player() >= 0 else ""
        told = ", ".join([f"{name}: {count} of {color}" for name, color, count in points if count])
        return Picture.from_parts(board, draw_dice(faces, "Dice"), told=f"Checkers on the points: {told}")


def _describe_turn(player: int, seat: int) -> str:
    return "over" if player < 0 else "yours" if player == seat else "theirs"


def _list_checkers(at: Callable[[int, int], int], seat: int, places: list[int]) -> str:
    """Return a seat's checkers from the highest point down: `24:2 13:5 `."""
    numbers = [at(seat, place) for place in places]
    return "".join([f"{point}:{numbers[point - 1]} " for point in range(_POINTS, 0, -1) if numbers[point - 1]])


class BackgammonGame(OpenSpielGame):
    """Backgammon with a turn count, which the engine's view omits."""

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}Turns: {count_turns(state)}\n"


game = make_openspiel_factory("backgammon", Backgammon, BackgammonGame)
