"""Clobber, told as moving into places that the other side occupies."""

from __future__ import annotations

import pyspiel

from gymposium.games.territory.clobber import Clobber
from gymposium_disguises.places import BoardDisguise, list_squares, read_cells
from gymposium_disguises.speech import Speech


class Evictions(BoardDisguise):
    """`clobber` on a board of any size."""

    def __init__(self, speech: Speech, plain: Clobber, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, list_squares(plain.columns, plain.rows), pairs=True)
        places, (one, other) = self.places, self.sides
        place, token = places.place, places.token
        # an action that leads off the board is never legal and keeps its plain name
        self.names = [places.rename_if_move(name) for name in plain.names]
        self.story = (
            f"{places.naming} {places.beside}\n"
            f"{one} and {other} take turns. A move takes one {token} of your own to a neighbour of its {place} on "
            f"which a {token} of the other stands; that one is taken away. There are no other moves. Whoever cannot "
            f"move loses. A move is written as the {place} that the {token} leaves and the {place} that it reaches, "
            f"with to between.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        return self.list_held(read_cells(state.observation_string(seat)), "ox")
