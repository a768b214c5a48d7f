"""Board places named by two words instead of a letter and a number."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gymposium.games.openspiel.boards import list_letters
from gymposium.games.openspiel.wording import Wording
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_SQUARE = re.compile(r"([A-Za-z])(\d+)")


class Places:
    """Two-word names for the squares of a board, such as `a1`, and the sentences that explain them. The seed determines
    the words, and whether the row or the column comes first. If `mirrored`, it also determines the order of the lists
    in the rules.
    """

    def __init__(self, speech: Speech, squares: Iterable[str], *, mirrored: bool = True) -> None:
        squares = list(squares)
        columns = sorted({square[0] for square in squares})
        numbers = sorted({int(square[1:]) for square in squares})
        draw = speech.draw
        self.crossed = draw.chance(0.5)
        """Whether the first word names the column."""
        outer = speech.draw_plants(len(columns if self.crossed else numbers))
        inner = speech.draw_animals(len(numbers if self.crossed else columns))
        of_rows, of_columns = (inner, outer) if self.crossed else (outer, inner)
        flips = [mirrored and draw.chance(0.5) for _ in range(2)]
        self.rows, self.columns = (words[::-1] if flip else words for words, flip in zip((of_rows, of_columns), flips))
        """The words for the rows from 1 up, and for the columns from the left."""
        self.outer, self.inner = outer, inner
        """First and second words, in the order of the rules."""
        self.first, self.second = speech.axes
        self.row, self.column = speech.axes[::-1] if self.crossed else speech.axes
        """Nouns for a row and a column."""
        self.place, self.token = speech.place, speech.token
        self._words = {
            **{str(number): word for number, word in zip(numbers, self.rows)},
            **dict(zip(columns, self.columns)),
        }
        self.name = {square: self._name_square(square[0], square[1:]) for square in squares}
        """The disguised name of each square."""
        self.pattern = f"(?:{'|'.join(outer)})-(?:{'|'.join(inner)})"
        """Regular expression for the name of a place."""

    def _name_square(self, letter: str, number: str) -> str:
        row, column = self._words[number], self._words[letter]
        return f"{column}-{row}" if self.crossed else f"{row}-{column}"

    def rename_move(self, move: str) -> str:
        """Return the disguised name of a move between squares: `oak-fox to elm-bee` for `a1b2`."""
        return " to ".join([self.name[letter + number] for letter, number in _SQUARE.findall(move)])

    def rename_if_move(self, move: str) -> str:
        """Rename a move between two places, and return other text unchanged."""
        squares = ["".join(square) for square in _SQUARE.findall(move)]
        return self.rename_move(move) if len(squares) == 2 and all(square in self.name for square in squares) else move

    def group_places(self, squares: Iterable[str]) -> str:
        """Return the squares as text, grouped by their first word: `oak: fox bee; elm: cat`."""
        groups: dict[str, list[str]] = {}
        for square in squares:
            first, _, second = self.name[square].partition("-")
            groups.setdefault(first, []).append(second)
        ordered = [(word, sorted(groups[word], key=self.inner.index)) for word in self.outer if word in groups]
        return "; ".join([f"{word}: {' '.join(seconds)}" for word, seconds in ordered]) or "none"

    @property
    def naming(self) -> str:
        """Return the sentences that explain the places of a board without gaps."""
        return f"{self.orders} Every {self.first} has every {self.second}. {self.writing}"

    @property
    def orders(self) -> str:
        """Return the sentences that list the words in order."""
        return (
            f"There are {len(self.outer)} {self.first}s, in this order: {join_words(self.outer)}. There are "
            f"{len(self.inner)} {self.second}s, in this order: {join_words(self.inner)}."
        )

    @property
    def writing(self) -> str:
        """Return the sentence that explains how to write a place."""
        example = next(iter(self.name.values()))
        return f"A {self.place} is written as its {self.first} and its {self.second}: {example}."

    @property
    def beside(self) -> str:
        """Return the sentence that explains which places are neighbors."""
        return (
            f"Two {self.place}s are neighbours if they have the same {self.first} and their {self.second}s follow each "
            f"other in the order, or the same {self.second} and their {self.first}s follow each other."
        )

    @property
    def straight(self) -> str:
        """Return the sentence that explains straight paths."""
        return (
            f"A straight path keeps the {self.first} and takes the {self.second}s one after the other, or keeps the "
            f"{self.second} and takes the {self.first}s one after the other, or does one step in both orders at a "
            f"time: both forward, both backward, or one forward and one backward, always the same way."
        )

    def explain_touching(self, other_way: bool) -> str:
        """Return the sentence that explains which six places touch a place, for boards that are not mirrored.
        `other_way` says whether the third direction goes backwards in one of the two orders.
        """
        third = "earlier" if other_way else "later"
        return (
            f"Two {self.place}s touch if they have the same {self.first} and their {self.second}s follow each other in "
            f"the order, or the same {self.second} and their {self.first}s follow each other, or if one is one "
            f"{self.first} later and one {self.second} {third} than the other."
        )


class BoardDisguise(Disguise):
    """Disguise of a board game. A move is one place, unless a subclass sets another pattern."""

    def __init__(
        self, speech: Speech, plain: Wording, squares: Iterable[str], *, mirrored: bool = True, pairs: bool = False
    ) -> None:
        """Create a disguise. With `pairs`, a move is two places: `oak-fox to elm-bee`."""
        super().__init__(speech, plain)
        self._squares = list(squares)
        self.places = Places(speech, self._squares, mirrored=mirrored)
        place = self.places.pattern
        self.move_pattern = re.compile(f"{place} to {place}" if pairs else place)

    def rename_move(self, move: str) -> str:
        return self.places.rename_move(move)

    def list_held(self, cells: str, marks: str) -> list[str]:
        """Return a line for each side that lists its places. `cells` gives the content of each square."""
        return [
            f"{side}: {self.places.group_places(sq for sq, cell in zip(self._squares, cells) if cell == mark)}"
            for side, mark in zip(self.sides, marks)
        ]


def list_squares(columns: int, rows: int) -> list[str]:
    """Return the names of a board's squares, row by row from row 1."""
    return [f"{column}{row}" for row in range(1, rows + 1) for column in list_letters(columns)]


def read_cells(board: str) -> str:
    """Return the cells in `list_squares` order of an engine board, highest row first: `2x.o\\n1.o.\\n abc\\n`."""
    rows = board.split("\n")[:-2]
    label = len(str(len(rows)))
    return "".join([row[label:] for row in reversed(rows)])
