"""Connect Four, told as rings on poles."""

from __future__ import annotations

import pyspiel

from gymposium.games.lines.connect_four import ConnectFour
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words


class Poles(Disguise):
    """`connect_four` as poles that fill from the bottom."""

    def __init__(self, speech: Speech, plain: ConnectFour, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        names = speech.draw_plants(plain.columns)
        self.set_moves(names)
        self.told = names[::-1] if speech.draw.chance(0.5) else names
        (one, other), token = self.sides, speech.token
        self.story = (
            f"{plain.columns} poles stand side by side, in this order: {join_words(self.told)}. Each carries up to "
            f"{plain.rows} {token}s, one above the other. {one} and {other} take turns to put a {token} of their own "
            f"on a pole that is not full, above those that are there. Whoever first has {plain.x_in_row} of their own "
            f"{token}s in one of these ways wins: one directly above the other on one pole; at the same height on "
            f"poles that follow each other; or on poles that follow each other, each one step higher than the one "
            f"before, or each one step lower. If all poles are full without that, nobody wins. A move is the name of "
            f"the pole. A pole is listed with the owners of its {token}s from the ground up.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        columns = [*zip(*reversed(state.observation_string(seat).split()))]
        owners = dict(zip("xo", self.sides))
        stands = {
            name: [owners[cell] for cell in column if cell != "."]
            for name, column in zip(self.names or (), columns, strict=True)
        }
        return [f"{name}: {' '.join(stands[name]) or '-'}" for name in self.told]
