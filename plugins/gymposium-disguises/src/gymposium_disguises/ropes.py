"""Dots and boxes, told as ropes between posts."""

from __future__ import annotations

import pyspiel

from gymposium.games.territory.dots_and_boxes import DotsAndBoxes
from gymposium_disguises.places import BoardDisguise, list_squares
from gymposium_disguises.speech import Speech, join_words


class Ropes(BoardDisguise):
    """`dots_and_boxes` on a board of any size."""

    def __init__(self, speech: Speech, plain: DotsAndBoxes, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, list_squares(plain.columns + 1, plain.rows + 1), pairs=True)
        self._boxes = plain
        places, (one, other) = self.places, self.sides
        place = places.place
        self.names = [places.rename_move(name) for name in plain.names]
        result = (
            "Your result is the number of your fields less the number of the other's."
            if plain.margin
            else "Whoever has more fields then wins; with equal numbers nobody wins."
        )
        self.story = (
            f"{places.naming} {places.beside}\n"
            f"{one} and {other} take turns to tie a rope between two {place}s that are neighbours and have none yet. "
            f"It does not matter who tied a rope. Two {places.first}s that follow each other and two {places.second}s "
            f"that follow each other have four {place}s in common, the corners of a field. Whoever ties the fourth "
            f"rope around a field owns it (one rope may complete two) and must then tie another, unless none is left. "
            f"The match ends when all {len(plain.names)} ropes are tied. {result}\n"
            f"A move is written as the two {place}s of the rope, with to between, as it is listed.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        board: list[str] = state.observation_string(seat).split("\n")
        rows, columns = self._boxes.rows, self._boxes.columns
        across = [board[2 * row][4 * column + 2] == "─" for row in range(rows + 1) for column in range(columns)]
        down = [board[2 * row + 1][4 * column] == "│" for row in range(rows) for column in range(columns + 1)]
        tied = [name for name, drawn in zip(self.names or (), [*across, *down], strict=True) if drawn]
        owned: list[list[str]] = [[], []]
        for row in range(rows):
            for column in range(columns):
                owner = board[2 * row + 1][4 * column + 2]
                if owner != " ":
                    owned[int(owner) - 1].append(self._format_field(row, column))
        fields = [f"{side}'s fields: {len(mine)}; {join_words(mine)}" for side, mine in zip(self.sides, owned)]
        return [f"ropes: {join_words(tied)}", *fields]

    def _format_field(self, row: int, column: int) -> str:
        """Return a field as two opposite corners."""
        dots = self._boxes.dots
        return self.places.rename_move(f"{dots[column]}{row + 1}{dots[column + 1]}{row + 2}").replace(" to ", "/")
