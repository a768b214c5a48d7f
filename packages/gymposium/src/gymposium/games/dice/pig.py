"""Pig as a text game (Scarne, 1945)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, format_legal
from gymposium.games.openspiel.wording import match_view
from gymposium.games.pictures import Picture, draw_dice, draw_score_track
from gymposium.games.protocol import Event, Style

VIEW = re.compile(r"Scores: (\d+) (\d+), Turn total: (\d+)\nCurrent player: (\d)")
_MOVES = ("roll", "stop")


def count_decisions(state: pyspiel.State) -> int:
    """Return the number of rolls and stops so far.

    The engine counts them for its horizon but does not expose the count. In its history, the die (its face minus one),
    roll (0) and stop (1) share numbers."""
    history = bytes(state.history())
    # A decision follows each die and each stop, so a run of zeros begins with a roll, followed by its die. Each pair of
    # zeros is a roll of 1. A final zero without a die is a roll that the horizon cut off.
    rolls = history.count(0) - history.count(b"\0\0")
    cut_off = (len(history) - len(history.rstrip(b"\0"))) % 2
    return len(history) - rolls + cut_off


class Pig:
    """Wording for `pig` with two players."""

    move_pattern = re.compile("|".join(_MOVES))
    names = _MOVES

    def __init__(self, engine: pyspiel.Game, winscore: int, diceoutcomes: int, horizon: int) -> None:
        self.winscore, self.diceoutcomes, self.horizon = winscore, diceoutcomes, horizon

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"pig to {self.winscore}, die 1 to {self.diceoutcomes}, draw after {self.horizon} decisions, "
                f"you begin {ORDER[seat]}\nscores are yours and theirs\n"
            )
        return (
            f"Pig for two players with one die of {self.diceoutcomes} sides, numbered from 1; the first to have "
            f"{self.winscore} points wins. In your turn you roll as often as you like. A 1 ends the turn, and you get "
            f"nothing for it. Any other number is added to your turn total. stop ends the turn and adds the turn total "
            f"to your score. As soon as both together are {self.winscore} or more, stop is the only legal move.\n"
            f"If nobody has won after {self.horizon} decisions (every roll and stop, of both players), it is a "
            f"draw.\n"
            f"You begin {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = match_view(VIEW, state.observation_string(seat))
        mine, theirs, total = view[1 + seat], view[2 - seat], view[3]
        past, player = count_decisions(state), state.current_player()
        if style == "compact":
            number = f"over after {past}" if player < 0 else f"decision {past + 1}"
            return f"scores {mine} {theirs}\nturn total {total}\n{number}\n{format_legal(state, seat, _MOVES)}"
        scores = f"Scores: you {mine}, your opponent {theirs}."
        if player < 0:
            return f"{scores} The game is over after {past} decisions.\n"
        turn = "It is your turn" if player == seat else "It is your opponent's turn"
        return f"{scores} {turn}; the turn total is {total}. This is decision {past + 1} of at most {self.horizon}.\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        view = match_view(VIEW, state.observation_string(seat))
        mine, theirs, total = int(view[1 + seat]), int(view[2 - seat]), int(view[3])
        # after a turn without points, a seat cannot tell a roll of 1 from a stop
        rolls = [] if not total else [move.removeprefix("Roll ") for _, move in events if move.startswith("Roll ")]
        rows = [("You", mine, "one"), ("Opponent", theirs, "two"), ("This turn", total, "three")]
        told = f"Scores: you {mine}, your opponent {theirs}; the turn total is {total}"
        return Picture.from_parts(
            draw_score_track(rows, self.winscore), draw_dice(rolls[-1:] or ["–"], "Last roll"), told=told
        )


class PigGame(OpenSpielGame):
    """Pig with a decision count in its view, which the engine's view omits."""

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}Decisions: {count_decisions(state)}\n"

    def make_tensor(self, state: pyspiel.State, seat: int) -> list[float]:
        """Return the turn total, the seat's own score and the opponent's.

        The engine's rows are the same for both seats."""
        values = super().make_tensor(state, seat)
        row = len(values) // 3
        return values if seat == 0 else [*values[:row], *values[2 * row :], *values[row : 2 * row]]


game = make_openspiel_factory("pig", Pig, PigGame, players=2)
