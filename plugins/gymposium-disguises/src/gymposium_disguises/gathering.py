"""Lines of Action, told as gathering on a board of places."""

from __future__ import annotations

import pyspiel

from gymposium.games.connection.lines_of_action import BOARD_LENGTH, SQUARE_INDICES, LinesOfAction, find_repetitions
from gymposium_disguises.places import BoardDisguise
from gymposium_disguises.speech import Speech, join_words

_SQUARES = [f"{column}{row}" for row in range(1, 9) for column in "abcdefgh"]


class Gathering(BoardDisguise):
    """The disguise of `lines_of_action`."""

    def __init__(self, speech: Speech, plain: LinesOfAction, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, _SQUARES, pairs=True)
        self._steps, self._last = plain.steps, plain.max_game_length
        places, (one, other) = self.places, self.sides
        place, token = places.place, places.token
        self.story = (
            f"{places.naming} {places.straight}\n"
            f"{one} and {other} take turns to move one {token} of their own. It moves along a straight path, exactly "
            f"as many steps as there are {token}s on the whole path from one end of the orders to the other, those of "
            f"both sides and itself counted. It may pass {token}s of its own side, but not the other's. It ends on a "
            f"free {place}, or on one with a {token} of the other, which is taken away, never on one with its own.\n"
            f"Two {place}s touch if a straight path leads from one to the other in one step. Whoever has all their "
            f"{token}s in one group after a move of either side, each touching the next, wins; a single one left is a "
            f"group. If a move does that for both, the side that moved wins. Whoever cannot move loses. As soon as a "
            f"move brings back an arrangement of all {token}s that was there before, no matter whose turn it was, "
            f"nobody wins. Nobody wins either after {self._last} moves of both together, even if the last of them "
            f"makes a group.\n"
            f"A move is written as the {place} that the {token} leaves and the {place} that it reaches, with to "
            f"between.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        board: str = state.observation_string(seat)[:BOARD_LENGTH]
        lines = self.list_held("".join([board[place] for place in SQUARE_INDICES]), "xo")
        lines.append(f"moves made: {state.move_number()} of {self._last}")
        if state.current_player() == seat and (again := find_repetitions(state, board)):
            moves = join_words([self.rename_move(self._steps[action]) for action in again])
            lines.append(f"these bring back an earlier arrangement: {moves}")
        return lines
