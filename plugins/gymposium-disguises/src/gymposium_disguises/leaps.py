"""Checkers, told as leaping over the other side's pieces."""

from __future__ import annotations

import pyspiel

from gymposium.games.pieces.checkers import QUIET, Checkers
from gymposium_disguises.places import BoardDisguise, list_squares, read_cells
from gymposium_disguises.speech import Speech


class Leaps(BoardDisguise):
    """`checkers` on a board of any size."""

    def __init__(self, speech: Speech, plain: Checkers, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, list_squares(plain.columns, plain.rows), pairs=True)
        self._checkers = plain
        places, (one, other) = self.places, self.sides
        place, token, row, column = places.place, places.token, places.row, places.column
        near, far = places.rows[0], places.rows[-1]
        # an action that leads off the board is never legal and keeps its plain name
        self.names = [places.rename_if_move(name) for name in plain.names]
        self.story = (
            f"{places.naming}\n"
            f"{one} and {other} take turns. {one}'s {token}s face the {row} {far}, {other}'s the {row} {near}. A "
            f"{token} steps to the next {row} that it faces and there to a {column} next to its own in the order, if "
            f"that {place} is free. A {token} that reaches the last {row} that it faces becomes a great {token}, which "
            f"faces both ways.\n"
            f"If a {token} of the other stands on the {place} of such a step, and the {place} behind it, one more "
            f"{row} and one more {column} in the same way, is free, then your {token} may leap there, and the one that "
            f"it leaps over is taken away. Whoever can leap must, and may choose the leap. If the {token} that has "
            f"leapt can leap again, the same side moves again and must go on with it: each leap is a move of its own. "
            f"A {token} that becomes great by a leap does not go on.\n"
            f"Whoever is to move and cannot loses. After {QUIET} moves of both in a row without a leap nobody wins, "
            f"even if the next side could not move. A move is written as the {place} that the {token} leaves and the "
            f"{place} that it reaches, with to between.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        cells = read_cells(state.observation_string(seat))
        quiet, leaping = self._checkers.facts(state)
        great = [line.replace(":", ", great:", 1) for line in self.list_held(cells, "8*")]
        lines = [*self.list_held(cells, "o+"), *great, f"moves since the last leap: {quiet}"]
        if leaping:
            lines.append(f"{self.places.name[leaping]} must go on leaping.")
        return lines
