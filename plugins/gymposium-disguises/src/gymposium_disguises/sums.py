"""Three-in-a-row games, told as numbers with a given sum: the rows of a magic square."""

from __future__ import annotations

import re

import pyspiel

from gymposium.games.hidden_boards.phantom_ttt import PhantomTicTacToe
from gymposium.games.lines.tic_tac_toe import TicTacToe
from gymposium.games.lines.ultimate_tic_tac_toe import UltimateTicTacToe, find_winner, split_boards
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_SQUARE = ((2, 7, 6), (9, 5, 1), (4, 3, 8))
_MOST = 4
"""Maximum added to the numbers 1 to 9. Half of the seeds add nothing."""


class MagicSquare:
    """Nine numbers on the nine cells of a board. Three have the target sum if and only if their cells are in a row."""

    def __init__(self, speech: Speech) -> None:
        draw = speech.draw
        rows = [list(row) for row in _SQUARE]
        if draw.chance(0.5):
            rows = [list(row) for row in zip(*rows)]
        for _ in range(draw.below(4)):
            rows = [list(row) for row in zip(*rows[::-1])]
        more = 0 if draw.chance(0.5) else draw.between(1, _MOST)
        self.numbers = [number + more for row in rows for number in row]
        """The number of each cell, row by row."""
        self.low, self.high, self.sum = 1 + more, 9 + more, 15 + 3 * more

    def list_numbers(self, cells: str, mark: str) -> list[str]:
        """Return the numbers of the cells with this mark, in ascending order."""
        return [*map(str, sorted(number for number, cell in zip(self.numbers, cells) if cell == mark))]


class Sums(Disguise):
    """`tic_tac_toe` as picking three numbers with a given sum."""

    def __init__(self, speech: Speech, plain: TicTacToe, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self.magic = magic = MagicSquare(speech)
        self.names = [*map(str, magic.numbers)]
        self.move_pattern = re.compile(r"\d\d?")
        one, other = self.sides
        self.story = (
            f"{one} and {other} take turns to pick a number from {magic.low} to {magic.high} that nobody has picked. "
            f"Whoever first has three numbers among their own whose sum is {magic.sum} wins. If all nine numbers are "
            f"picked without that, nobody wins. A move is the number.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        cells = state.observation_string(seat).replace("\n", "")
        return [
            f"{who}: {join_words(self.magic.list_numbers(cells, mark))}"
            for who, mark in zip((*self.sides, "free"), "xo.")
        ]


class UnseenSums(Disguise):
    """`phantom_ttt` as picking numbers in secret."""

    def __init__(self, speech: Speech, plain: PhantomTicTacToe, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self.magic = magic = MagicSquare(speech)
        self.names = [*map(str, magic.numbers)]
        self.move_pattern = re.compile(r"\d\d?")
        one, other = self.sides
        again = plain.gameversion == "classical"
        self.counted = plain.obstype == "reveal-numturns"
        after = "asks for another one" if again else "has lost this turn"
        told = "You are told each time that the other asks, not for which number." if self.counted else ""
        if again and not self.counted:
            told = "You are not told how often the other asks."
        self.story = (
            f"{one} and {other} take turns to ask for a number from {magic.low} to {magic.high}. If nobody has it, "
            f"it is theirs. If the other has it, the asker is told so, and {after}. You do not see which numbers the "
            f"other has. {told} Whoever first has three numbers among their own whose sum is {magic.sum} wins. If all "
            f"nine numbers are taken without that, nobody wins. A move is the number. In the list of what was asked, "
            f"! means that the other had it{', ? is an asking of the other' if self.counted else ''}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        rows = state.information_state_string(seat).split("\n")
        cells, mark = "".join(rows[:3]), "xo"[seat]
        tries = [turn.partition(",")[2] for turn in rows[-1].split()]
        numbers = self.magic.numbers
        asked = [t if t == "?" else str(numbers[int(t)]) + "!" * (cells[int(t)] != mark) for t in tries]
        known = [f"{side}: {join_words(self.magic.list_numbers(cells, mark))}" for side, mark in zip(self.sides, "xo")]
        return [*known, f"asked: {join_words(asked)}"]


class SumsOfSums(Disguise):
    """`ultimate_tic_tac_toe` as nine boxes with nine numbers each."""

    def __init__(self, speech: Speech, plain: UltimateTicTacToe, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self.magic = magic = MagicSquare(speech)
        self.box, self.token = speech.place, speech.token
        self.move_pattern = re.compile(rf"{self.box} \d\d?|\d\d?-\d\d?")
        one, other = self.sides
        box, token, low = self.box, self.token, magic.low
        self.story = (
            f"There are nine {box}s, numbered {low} to {magic.high}. In each are nine {token}s, numbered {low} to "
            f"{magic.high} too. {one} and {other} take turns to take a {token}. Whoever first has three {token}s from "
            f"one {box} whose numbers have the sum {magic.sum} wins that {box}; a {box} from which all are taken "
            f"without that belongs to nobody. From a {box} that is won or empty nothing is taken any more: it is "
            f"closed. Whoever first wins three {box}s whose numbers have the sum {magic.sum} wins the match. If all "
            f"nine are closed without that, nobody wins.\n"
            f"The number of the {token} that is taken is the number of the {box} from which the other must take next. "
            f"If that one is closed, the other first chooses an open {box} as a move of its own, then takes a {token} "
            f"from it. The match begins with such a choice by {one}.\n"
            f"A choice is written {box} {low}. Taking is written as the number of the {box} and that of the {token}: "
            f"{low}-{low + 1} takes {token} {low + 1} from {box} {low}.\n"
        )

    def _rename_number(self, plain: str) -> int:
        return self.magic.numbers[int(plain) - 1]

    def rename_move(self, move: str) -> str:
        board, _, square = move.partition("/")
        if square:
            return f"{self._rename_number(board)}-{self._rename_number(square)}"
        return f"{self.box} {self._rename_number(move.removeprefix('board '))}"

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        view: str = state.observation_string(seat)
        boards = sorted(zip(self.magic.numbers, split_boards(view)))
        ends = {"x": f"won by {self.sides[0]}", "o": f"won by {self.sides[1]}", "=": "nobody's", ".": "open"}
        lines = []
        for number, cells in boards:
            taken = [
                f"{side} {' '.join(self.magic.list_numbers(cells, mark)) or '-'}"
                for side, mark in zip(self.sides, "xo")
            ]
            lines.append(f"{self.box} {number} ({ends[find_winner(cells)]}): {join_words(taken)}")
        player, forced = state.current_player(), view.split()[-1]
        if player >= 0:
            must = f"choose a {self.box}" if forced == "any" else f"take from {self.box} {self._find_number(forced)}"
            lines.append(f"{self.sides[player]} must {must}.")
        return lines

    def _find_number(self, board: str) -> int:
        return self.magic.numbers[int(board)]
