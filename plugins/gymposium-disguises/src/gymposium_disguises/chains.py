"""Connection games on boards of hexagons, told as chains of adjacent places."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyspiel

from gymposium.games.connection.havannah import Havannah
from gymposium.games.connection.hex import Hex
from gymposium.games.connection.hexagons import Hexagons
from gymposium.games.connection.y import Y
from gymposium.games.openspiel.wording import Wording
from gymposium_disguises.places import BoardDisguise, Places
from gymposium_disguises.speech import Speech


def explain_ends(places: Places, sides: tuple[str, ...]) -> str:
    """Return the sentence that says which two edges each side must connect."""
    rows, columns = places.rows, places.columns
    return (
        f"{sides[0]} wins with a chain of their own from the {places.row} {rows[0]} to the {places.row} {rows[-1]}, "
        f"{sides[1]} with one from the {places.column} {columns[0]} to the {places.column} {columns[-1]}."
    )


class TwoEnds(BoardDisguise):
    """`hex` on a board of any size."""

    def __init__(self, speech: Speech, plain: Hex, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.names, mirrored=False)
        places, (one, other) = self.places, self.sides
        self.names = [places.name[square] for square in plain.names]
        self.story = (
            f"{places.naming} {places.explain_touching(other_way=True)}\n"
            f"{one} and {other} take turns to put a {places.token} of their own on any free {places.place}. It stays "
            f"there. {places.token.capitalize()}s of one side on {places.place}s that touch, one after the other, are "
            f"a chain. {explain_ends(places, self.sides)} One of the two always succeeds. A move is the "
            f"{places.place}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        cells = state.observation_string(seat).replace(" ", "").replace("\n", "")
        return self.list_held(cells, "xo")


class _HexagonDisguise(BoardDisguise):
    """Disguise of a game on a board of hexagons whose rows differ in length."""

    def __init__(self, speech: Speech, plain: Wording, board: Hexagons) -> None:
        self._board = board
        super().__init__(speech, plain, [cell for row in board.rows for cell in row], mirrored=False)
        # an action without a cell is never legal and keeps its plain name, which no place has
        self.names = [self.places.name.get(name, name) for name in board.names]
        self.move_pattern = re.compile("|".join(map(re.escape, self.places.name.values())))

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        return self.list_held("".join(self._board.read_cells(state, seat)), "xo")

    def describe(self, squares: Iterable[str]) -> str:
        """Return the disguised names of squares, separated by commas."""
        return ", ".join([self.places.name[square] for square in squares])


class ThreeEdges(_HexagonDisguise):
    """`y` on a board of any size."""

    def __init__(self, speech: Speech, plain: Y, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.board)
        places, (one, other), size = self.places, self.sides, plain.board_size
        first, second, place, token = places.first, places.second, places.place, places.token
        self.story = (
            f"{places.orders} The first {first} has all {size} {second}s; each later {first} has one {second} less "
            f"than the {first} before, as its last one is missing. {places.writing} "
            f"{places.explain_touching(other_way=True)}\n"
            f"{one} and {other} take turns to put a {token} of their own on any free {place}. It stays there. "
            f"{token.capitalize()}s of one side on {place}s that touch, one after the other, are a chain. There are "
            f"three edges: the {place}s of the first {first}; those of the first {second}; and the last {place} of "
            f"every {first}. A {place} may belong to two edges. Whoever first has one chain with {place}s of all three "
            f"edges wins; one of the two always succeeds. A move is the {place}.\n"
        )


class LoopsAndChains(_HexagonDisguise):
    """`havannah` on a board of any size, with and without the swap rule."""

    def __init__(self, speech: Speech, plain: Havannah, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.board)
        self._swap = plain.swap
        self._cells = plain.names
        places, (one, other), size = self.places, self.sides, plain.board_size
        first, second, place, token = places.first, places.second, places.place, places.token
        rows = plain.board.rows
        corners = [row[end] for row in (rows[0], rows[size - 1], rows[-1]) for end in (0, -1)]
        swap = (
            f"On its first turn {other} may instead pick the {place} that {one} has taken: the {token} there then "
            f"belongs to {other}, and it is {one}'s turn again. "
            if plain.swap
            else ""
        )
        self.story = (
            f"{places.orders} A {first} has those {second}s whose number in their order "
            f"differs by less than {size} from the number of the {first} in its order. {places.writing} "
            f"{places.explain_touching(other_way=False)}\n"
            f"{one} and {other} take turns to put a {token} of their own on any free {place}. It stays there. {swap}"
            f"{token.capitalize()}s of one side on {place}s that touch, one after the other, are a chain. Whoever "
            f"first has one of these wins: a loop of a chain around at least one {place}, whether those inside are "
            f"free or taken; a chain that joins two of the six corners, which are {self.describe(corners)}; or a chain "
            f"that joins three of the six edges. The edges are the first {first}, the last {first}, the first "
            f"{second}, the last {second}, the {place}s whose {second} is {size - 1} later in its order than its "
            f"{first}, and those where it is {size - 1} earlier; corners belong to no edge. If every {place} is taken "
            f"without any of these, nobody wins. A move is the {place}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        lines = super().lines(state, seat)
        if self._swap and state.current_player() == len(state.history()) == 1:
            taken = self.places.name[self._cells[state.history()[0]]]
            lines.append(f"{self.sides[1]} may also pick {taken} and so own what stands there.")
        return lines
