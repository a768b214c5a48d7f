"""Guess the number: find a hidden number from the answers "higher" and "lower"."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.pictures import Picture, draw_note, draw_table
from gymposium.games.rules import Event, make_game_factory
from gymposium_puzzles.puzzle import Deduction, Guesses

MOST_LISTED = 20
"""Largest number up to which prompts list the numbers."""
HIGHER, LOWER, RIGHT = "higher", "lower", "right"


class GuessNumber(Deduction):
    """Rules of guess the number. The solver bisects."""

    name = "guess the number"

    def __init__(self, most: int, turns: int) -> None:
        super().__init__(turns)
        self.most = most
        self.secrets = self.moves = tuple(map(str, range(1, most + 1)))

    def answer(self, secret: str, guess: str) -> str:
        if secret == guess:
            return RIGHT
        return HIGHER if int(secret) > int(guess) else LOWER

    def explain(self) -> str:
        return (
            f"Guess a whole number from 1 to {self.most}. After each guess you learn whether the number is {HIGHER} or "
            f"{LOWER}. You score 1 if you guess it, otherwise 0."
        )

    def move_form(self, guesses: Guesses, seat: int) -> str:
        return f"a number from 1 to {self.most}" if self.most > MOST_LISTED else ""

    def choose(self, guesses: Guesses, secrets: Sequence[str]) -> str:
        return secrets[(len(secrets) - 1) // 2]

    def draw_picture(self, guesses: Guesses, seat: int, events: Sequence[Event]) -> Picture:
        rows = [("guess", "the number is"), *guesses.made]
        told = f"Guesses with answers: {'; '.join(f'{guess}: {answer}' for guess, answer in guesses.made) or 'none'}"
        return Picture.from_parts(draw_note(f"From 1 to {self.most}"), draw_table(rows), told=told)


game = make_game_factory(GuessNumber)
