"""Mastermind: find a hidden code of colors from counts of exact and misplaced pegs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import permutations, product

import numpy as np

from gymposium.errors import BadParameter
from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note
from gymposium.games.rules import Event, make_game_factory
from gymposium_puzzles.puzzle import Deduction, Guesses

MOST_CODES = 5000
"""Largest number of codes that a game may have."""
MOST_LISTED = 60
"""Largest number of codes up to which prompts list them."""
LEAST_ROWS = 10
"""Number of rows that a picture shows before more guesses are made."""
COLORS = ("one", "two", "three", "white", "black", "mark", "red", "dark")
"""The picture color of each number."""
PEGS = {
    **{str(number): draw_disc(color, str(number)) for number, color in enumerate(COLORS, start=1)},
    "exact": draw_disc("black", radius=0.16),
    "misplaced": draw_disc("white", radius=0.16),
}


class Mastermind(Deduction):
    """Rules of mastermind.

    The solver is the minimax strategy of D. E. Knuth, "The computer as master mind" (Journal of Recreational
    Mathematics 9, 1976): the guess whose worst answer leaves the fewest codes, if possible one of them."""

    name = "mastermind"

    def __init__(self, pegs: int, colors: int, duplicates: bool, turns: int) -> None:
        super().__init__(turns)
        if not duplicates and pegs > colors:
            raise BadParameter(
                f"colors={colors}: a code of {pegs} pegs without duplicates needs {pegs} colors. Give more colors or "
                "duplicates=True."
            )
        numbers = [str(number) for number in range(1, colors + 1)]
        self.pegs, self.colors, self.duplicates = pegs, colors, duplicates
        codes = product(numbers, repeat=pegs) if duplicates else permutations(numbers, pegs)
        self.secrets = self.moves = tuple(map(" ".join, codes))
        if len(self.moves) > MOST_CODES:
            raise BadParameter(
                f"pegs={pegs}, colors={colors}: {len(self.moves)} codes are more than {MOST_CODES}. Give fewer pegs or "
                "colors."
            )

    def answer(self, secret: str, guess: str) -> str:
        hidden, guessed = secret.split(), guess.split()
        exact = sum(map(str.__eq__, hidden, guessed))
        both = sum(min(hidden.count(number), guessed.count(number)) for number in set(guessed))
        return f"{exact} exact, {both - exact} misplaced"

    def explain(self) -> str:
        kind = "may occur more than once" if self.duplicates else "occurs at most once"
        return (
            f"Mastermind. Find a hidden code of {self.pegs} pegs. Each peg has one of {self.colors} colors, numbered "
            f"from 1 to {self.colors}, and a color {kind} in the code and in a guess. After each guess you learn how "
            "many of its pegs are exact, which have the right color in the right place, and how many are misplaced, "
            "which have a color of the code in a wrong place. Each peg of the code counts for at most one peg of the "
            "guess. You score 1 if you guess the code, otherwise 0."
        )

    def move_form(self, guesses: Guesses, seat: int) -> str:
        if len(self.moves) <= MOST_LISTED:
            return ""
        different = "" if self.duplicates else " different"
        return f"{self.pegs}{different} numbers from 1 to {self.colors}, like {self.moves[len(self.moves) // 3]}"

    def choose(self, guesses: Guesses, secrets: Sequence[str]) -> str:
        left = np.array([self._index[secret] for secret in secrets])
        # before the first guess all colors are alike
        tried = np.arange(len(self.moves)) if guesses.made else np.array(self._patterns)
        answers = self._compare(tried, left)
        kinds = (self.pegs + 1) ** 2
        counts = np.bincount((answers + kinds * np.arange(len(tried))[:, None]).ravel(), minlength=kinds * len(tried))
        worst = counts.reshape(len(tried), kinds).max(1)
        best = tried[worst == worst.min()]
        fitting = best[np.isin(best, left)]
        return self.moves[int((fitting if fitting.size else best)[0])]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {code: index for index, code in enumerate(self.moves)}

    @cached_property
    def _patterns(self) -> list[int]:
        """The codes whose colors first occur in the order of their numbers."""
        codes = [[int(number) for number in code.split()] for code in self.moves]
        return [index for index, code in enumerate(codes) if [*dict.fromkeys(code)] == [*range(1, max(code) + 1)]]

    @cached_property
    def _codes(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of each code, and how often it has each color."""
        codes = np.array([code.split() for code in self.moves]).astype(np.int8)
        counts = [(codes == color).sum(1, dtype=np.int8) for color in range(1, self.colors + 1)]
        return codes, np.stack(counts, 1)

    def _compare(self, guesses: np.ndarray, secrets: np.ndarray) -> np.ndarray:
        """Return the answer to each guess for each secret as a number. Codes are given by index."""
        codes, counts = self._codes
        exact = np.zeros((len(guesses), len(secrets)), np.int8)
        both = exact.copy()
        for peg in range(self.pegs):
            exact += codes[guesses, peg, None] == codes[secrets, peg]
        for color in range(self.colors):
            both += np.minimum(counts[guesses, color, None], counts[secrets, color])
        return exact * (self.pegs + 1) + both

    def draw_picture(self, guesses: Guesses, seat: int, events: Sequence[Event]) -> Picture:
        rows = []
        for guess, answer in guesses.made:
            exact, misplaced = (int(part.split()[0]) for part in answer.split(", "))
            keys = ["exact"] * exact + ["misplaced"] * misplaced
            rows.append([*guess.split(), *keys, *[""] * (self.pegs - len(keys))])
        rows += [[""] * (2 * self.pegs)] * (min(LEAST_ROWS, self.turns) - len(rows))
        told = f"Guesses with answers: {'; '.join(f'{guess}: {answer}' for guess, answer in guesses.made) or 'none'}"
        return Picture.from_parts(
            draw_grid(rows, PEGS),
            draw_note(f"{self.colors} colors. Right half: a black dot for each exact peg, a white one if misplaced"),
            told=told,
        )


game = make_game_factory(Mastermind)
