"""Breakthrough, told as crossing a board of places."""

from __future__ import annotations

import pyspiel

from gymposium.games.pieces.breakthrough import Breakthrough
from gymposium_disguises.places import BoardDisguise, list_squares, read_cells
from gymposium_disguises.speech import Speech


class Crossing(BoardDisguise):
    """`breakthrough` on a board of any size."""

    def __init__(self, speech: Speech, plain: Breakthrough, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, list_squares(plain.columns, plain.rows), pairs=True)
        places, (one, other) = self.places, self.sides
        place, token, row, column = places.place, places.token, places.row, places.column
        near, far = places.rows[0], places.rows[-1]
        self.story = (
            f"{places.naming}\n"
            f"{one} and {other} take turns to move one {token} of their own to the next {row} in their direction: "
            f"{one} goes from the {row} {far} towards the {row} {near}, {other} from {near} towards {far}. The {token} "
            f"either keeps its {column}, and then the {place} that it reaches must be free; or it changes to a "
            f"{column} next to its own in the order, and then that {place} must be free or hold a {token} of the "
            f"other, which is taken away. {one} wins by reaching {near}, {other} by reaching {far}. Whoever has no "
            f"{token} left loses. A move is written as the {place} that the {token} leaves and the {place} that it "
            f"reaches, with to between.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        return self.list_held(read_cells(state.observation_string(seat)), "bw")
