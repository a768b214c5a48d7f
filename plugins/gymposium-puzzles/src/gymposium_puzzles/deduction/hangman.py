"""Hangman: find a hidden word letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from gymposium.games.pictures import Picture, draw_grid, draw_note, draw_table, draw_tile
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.visible import quantity
from gymposium_puzzles.puzzle import Deduction, Guesses
from gymposium_puzzles.words import encode_words, load_words

HIDDEN = "_"
TILES = {letter: draw_tile(letter) for letter in (*ascii_lowercase, HIDDEN)}


class Hangman(Deduction):
    """Rules of hangman. The solver guesses the letter that most of the fitting words contain."""

    name = "hangman"
    moves = tuple(ascii_lowercase)

    def __init__(self, letters: int, wrong: int, turns: int) -> None:
        super().__init__(turns)
        self.letters, self.wrong = letters, wrong
        self.secrets = load_words(letters).common

    def answer(self, secret: str, guess: str) -> str:
        return "".join([guess if letter == guess else HIDDEN for letter in secret])

    def explain(self) -> str:
        return (
            f"Hangman. Find a hidden English word of {self.letters} letters. Guess one letter at a time; you then see "
            "all its places in the word. A guess is wrong if the word does not have the letter. The game ends after "
            f"{quantity(self.wrong, 'wrong guess', 'wrong guesses')}. You score 1 if you find all letters of the word, "
            "otherwise 0."
        )

    def is_found(self, guesses: Guesses) -> bool:
        return guesses.secret is not None and set(guesses.secret) <= {guess for guess, _ in guesses.made}

    def to_move(self, guesses: Guesses) -> tuple[int, ...]:
        return () if len(self._list_wrong(guesses)) >= self.wrong else super().to_move(guesses)

    def list_guesses(self, guesses: Guesses) -> Sequence[str]:
        made = {guess for guess, _ in guesses.made}
        return [letter for letter in self.moves if letter not in made]

    def find_secrets(self, guesses: Guesses) -> list[str]:
        left = np.arange(len(self.secrets))
        for guess, answer in guesses.made:
            places = encode_words([answer])[0] == ord(guess)
            left = left[((self._secrets[left] == ord(guess)) == places).all(1)]
        return [self.secrets[index] for index in left.tolist()]

    def choose(self, guesses: Guesses, secrets: Sequence[str]) -> str:
        words = encode_words(secrets)
        return max(self.list_guesses(guesses), key=lambda letter: int((words == ord(letter)).any(1).sum()))

    @cached_property
    def _secrets(self) -> np.ndarray:
        return encode_words(self.secrets)

    def _list_wrong(self, guesses: Guesses) -> list[str]:
        """Return the guessed letters that the word does not have."""
        return [guess for guess, answer in guesses.made if guess not in answer]

    def _reveal(self, guesses: Guesses) -> list[str]:
        """Return the word's letters, with `HIDDEN` for those not found yet."""
        places = zip(*[answer for _, answer in guesses.made], strict=True) if guesses.made else [HIDDEN] * self.letters
        return [next((letter for letter in place if letter != HIDDEN), HIDDEN) for place in places]

    def position(self, guesses: Guesses, seat: int, style: Style) -> str:
        shown, wrong = " ".join(self._reveal(guesses)), self._list_wrong(guesses)
        left = self.turns - len(guesses.made)
        if style == "compact":
            return f"{shown}\nwrong {' '.join(wrong) or 'none'}, {len(wrong)} of {self.wrong}\nleft {left}\n"
        return (
            f"Word: {shown}\nLetters that it does not have: {', '.join(wrong) or 'none yet'} ({len(wrong)} of "
            f"{self.wrong}).\nGuesses left: {left}.\n"
        )

    def draw_picture(self, guesses: Guesses, seat: int, events: Sequence[Event]) -> Picture:
        shown, wrong, made = self._reveal(guesses), self._list_wrong(guesses), [guess for guess, _ in guesses.made]
        half = len(self.moves) // 2
        return Picture.from_parts(
            draw_grid([shown], TILES),
            draw_table([self.moves[:half], self.moves[half:]], faded=made, places=True),
            draw_note(f"Wrong: {len(wrong)} of {self.wrong} ({' '.join(wrong)})" if wrong else "Wrong: none"),
            told=f"Word: {' '.join(shown)}; wrong letters: {' '.join(wrong) or 'none'}",
        )


game = make_game_factory(Hangman)
