"""Wordle: find a hidden word from the colors of each guess's letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gymposium.games.pictures import Picture, draw_grid, draw_note, draw_tile
from gymposium.games.rules import Event, make_game_factory
from gymposium_puzzles.puzzle import Deduction, Guesses
from gymposium_puzzles.words import encode_words, load_words

GRAY, YELLOW, GREEN = COLORS = ("gray", "yellow", "green")
FILLS = {GRAY: ("dark", "name"), YELLOW: ("mark", "ink"), GREEN: ("three", "square")}
"""Picture colors of a tile and its letter."""
MOST_COMPARED = 200_000
"""Largest number of pairs of a guess and a secret that the solver compares."""
LEAST_ROWS = 6
"""Number of rows that a picture shows before more guesses are made."""


class Wordle(Deduction):
    """Rules of wordle.

    The solver compares the fitting words with the most frequent letters. It guesses the one whose color pattern has
    the highest entropy over all fitting words."""

    name = "wordle"

    def __init__(self, letters: int, turns: int) -> None:
        super().__init__(turns)
        self.letters = letters
        self.moves, self.secrets = load_words(letters)

    def answer(self, secret: str, guess: str) -> str:
        colors = [GREEN if one == other else GRAY for one, other in zip(guess, secret, strict=True)]
        left = Counter(other for color, other in zip(colors, secret, strict=True) if color == GRAY)
        for place, letter in enumerate(guess):
            if colors[place] == GRAY and left[letter]:
                colors[place] = YELLOW
                left[letter] -= 1
        return ", ".join([f"{letter} {color}" for letter, color in zip(guess, colors, strict=True)])

    def explain(self) -> str:
        return (
            f"Wordle. Find a hidden English word of {self.letters} letters. Each guess must be an English word of "
            f"{self.letters} letters in lower case; rare words may be missing from the list of guesses. After each "
            f"guess you learn a color for each of its letters, in order: {GREEN} if the word has this letter in this "
            f"place, {YELLOW} if it has the letter in another place, otherwise {GRAY}. If a guess repeats a letter, at "
            f"most as many of them are {GREEN} or {YELLOW} as the word has: {GREEN} first, then {YELLOW} from left to "
            "right. You score 1 if you guess the word, otherwise 0."
        )

    def move_form(self, guesses: Guesses, seat: int) -> str:
        return f"an English word of {self.letters} letters, like {self.secrets[len(self.secrets) // 2]}"

    def find_secrets(self, guesses: Guesses) -> list[str]:
        left = np.arange(len(self.secrets))
        for guess, answer in guesses.made:
            pattern = 0
            for part in answer.split(", "):
                pattern = 3 * pattern + COLORS.index(part[2:])
            left = left[self._color(encode_words([guess])[0], self._secrets[left]) == pattern]
        return [self.secrets[index] for index in left.tolist()]

    def choose(self, guesses: Guesses, secrets: Sequence[str]) -> str:
        words = encode_words(secrets)
        frequencies = np.bincount(words.ravel(), minlength=128)
        ordered = np.sort(words, 1)
        is_new = np.diff(ordered, axis=1, prepend=0) > 0
        tried = np.argsort(-(frequencies[ordered] * is_new).sum(1), kind="stable")
        best, most = 0, -1.0
        for index in tried[: MOST_COMPARED // len(words)].tolist():
            counts = np.bincount(self._color(words[index], words), minlength=3**self.letters)
            shares = counts[counts > 0] / len(words)
            if (entropy := -float((shares * np.log2(shares)).sum())) > most:
                best, most = index, entropy
        return secrets[best]

    @cached_property
    def _secrets(self) -> np.ndarray:
        return encode_words(self.secrets)

    def _color(self, guess: np.ndarray, secrets: np.ndarray) -> np.ndarray:
        """Return the colors of a guess for each secret, as a number in base 3."""
        green = secrets == guess
        patterns = np.zeros(len(secrets), np.int64)
        left: dict[int, np.ndarray] = {}
        """How often each secret has a letter that is not green or yellow yet."""
        for place, letter in enumerate(guess.tolist()):
            if letter not in left:
                left[letter] = ((secrets == letter) & ~green).sum(1)
            yellow = ~green[:, place] & (left[letter] > 0)
            left[letter] -= yellow
            patterns = 3 * patterns + 2 * green[:, place] + yellow
        return patterns

    def draw_picture(self, guesses: Guesses, seat: int, events: Sequence[Event]) -> Picture:
        rows = [answer.split(", ") for _, answer in guesses.made]
        pieces = {cell: draw_tile(cell[0], *FILLS[cell[2:]]) for row in rows for cell in row}
        rows += [[""] * self.letters] * (min(LEAST_ROWS, self.turns) - len(rows))
        told = f"Guesses with answers: {'; '.join(f'{guess}: {answer}' for guess, answer in guesses.made) or 'none'}"
        left = self.turns - len(guesses.made)
        return Picture.from_parts(draw_grid(rows, pieces), draw_note(f"Guesses left: {left}"), told=told)


game = make_game_factory(Wordle)
