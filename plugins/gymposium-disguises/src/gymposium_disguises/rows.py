"""Gomoku, told as taking adjacent places on streets."""

from __future__ import annotations

import pyspiel

from gymposium.games.lines.gomoku import Gomoku
from gymposium_disguises.places import BoardDisguise
from gymposium_disguises.speech import Speech


class Rows(BoardDisguise):
    """`gomoku` in all its variants."""

    def __init__(self, speech: Speech, plain: Gomoku, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.names)
        places, (one, other) = self.places, self.sides
        self.names = [places.name[square] for square in plain.names]
        rings = "Both orders are rings: after the last word the first one follows. " if plain.wrap else ""
        self.story = (
            f"{places.naming} {rings}{places.straight}\n"
            f"{one} and {other} take turns to put a {places.token} of their own on any free {places.place}. It stays "
            f"there. Whoever first has {plain.connect} or more of their own {places.token}s on a straight path, with "
            f"no gap between, {'loses' if plain.anti else 'wins'}. If every {places.place} is taken without that, "
            f"nobody wins. A move is the {places.place}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        cells = "".join(state.observation_string(seat).split("\n")[1:])
        return self.list_held(cells, "bw")
