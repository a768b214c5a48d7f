"""Base classes of the puzzles: one seat, and an instance that chance draws.

`Puzzle` shows its whole position. `Deduction` hides a secret, which the answers to guesses narrow down."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from gymposium.games.rules import CHANCE, Event, Style
from gymposium.util.streams import Draw, stream
from gymposium.util.visible import quantity

P = TypeVar("P", bound=Hashable)
"""Type of a puzzle's positions, which are immutable."""

NUMBERS = {str(number): 1.0 for number in range(1000)}
"""Outcomes of each of the two chance events that number an instance."""


class Attempt(NamedTuple, Generic[P]):
    """An attempt at a puzzle."""

    thousands: int | None
    """First part of the instance's number, between the two chance events."""
    position: P | None
    """None before the instance is drawn."""
    made: int
    """Number of moves made."""


class Puzzle(ABC, Generic[P]):
    """Rules of a puzzle for one seat.

    Chance draws one of a million instances, and the seat has `turns` moves to solve it. The return is 1 if it is
    solved, else 0. A subclass names itself with `name` and lists all `moves` of the action space."""

    name: str
    moves: Sequence[str]
    utility_range = (0.0, 1.0)

    def __init__(self, turns: int) -> None:
        self.turns = self.max_decisions = turns

    @abstractmethod
    def generate(self, draw: Draw) -> P:
        """Return the first position of a solvable instance."""

    @abstractmethod
    def list_moves(self, position: P) -> Sequence[str]:
        """Return the legal moves; () if there is none, which ends the attempt."""

    @abstractmethod
    def step(self, position: P, move: str) -> P:
        """Return the position after a legal move."""

    @abstractmethod
    def is_solved(self, position: P) -> bool:
        """Return whether this position is the goal."""

    @abstractmethod
    def describe(self, position: P, style: Style) -> str:
        """Return the position as text, ending with a newline."""

    @abstractmethod
    def explain(self) -> str:
        """Return the rules as a paragraph, without the number of moves and the return."""

    @abstractmethod
    def choose(self, position: P) -> str:
        """Return the solver's move in an unsolved position."""

    def solve(self, attempt: Attempt[P]) -> str:
        """Return the solver's move."""
        return self.choose(_require_position(attempt))

    def score(self, attempt: Attempt[P]) -> float:
        """Return the return of an attempt."""
        return float(attempt.position is not None and self.is_solved(attempt.position))

    def start(self) -> Attempt[P]:
        return Attempt(None, None, 0)

    def to_move(self, attempt: Attempt[P]) -> tuple[int, ...]:
        if attempt.position is None:
            return (CHANCE,)
        is_over = (
            attempt.made >= self.turns or self.is_solved(attempt.position) or not self.list_moves(attempt.position)
        )
        return () if is_over else (0,)

    def chance(self, attempt: Attempt[P]) -> Mapping[str, float]:
        return NUMBERS

    def legal_moves(self, attempt: Attempt[P], seat: int) -> Sequence[str]:
        return self.list_moves(_require_position(attempt))

    def play(self, attempt: Attempt[P], moves: Mapping[int, str]) -> Attempt[P]:
        if CHANCE not in moves:
            return Attempt(attempt.thousands, self.step(_require_position(attempt), moves[0]), attempt.made + 1)
        number = int(moves[CHANCE])
        if attempt.thousands is None:
            return Attempt(number, None, 0)
        return Attempt(None, self.generate(Draw(stream(1000 * attempt.thousands + number, self.name))), 0)

    def returns(self, attempt: Attempt[P]) -> tuple[float, ...]:
        return (self.score(attempt),)

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"{self.name}, {quantity(self.turns, 'move')}\n"
        return f"{self.explain()} You have {quantity(self.turns, 'move')}.\n"

    def position(self, attempt: Attempt[P], seat: int, style: Style) -> str:
        if attempt.position is None:
            return "not drawn yet\n"
        left = self.turns - attempt.made
        shown = self.describe(attempt.position, style)
        return f"{shown}left {left}\n" if style == "compact" else f"{shown}Moves left: {left}.\n"


def _require_position(attempt: Attempt[P]) -> P:
    assert attempt.position is not None, "chance has not drawn the instance yet"
    return attempt.position


class Guesses(NamedTuple):
    """A secret, and the guesses with their answers."""

    secret: str | None
    """None before it is drawn."""
    made: tuple[tuple[str, str], ...]


class Deduction(ABC):
    """Rules of a game for one seat that finds a hidden secret by guesses.

    Chance draws one of the `secrets`, and the seat has `turns` guesses. The return is 1 if it finds the secret, else
    0. A subclass lists all guesses as `moves`. The secret is found if `is_found` says so."""

    name: str
    secrets: Sequence[str]
    moves: Sequence[str]
    utility_range = (0.0, 1.0)

    def __init__(self, turns: int) -> None:
        self.turns = self.max_decisions = turns

    @abstractmethod
    def answer(self, secret: str, guess: str) -> str:
        """Return the answer to a guess, as short text."""

    @abstractmethod
    def explain(self) -> str:
        """Return the rules as a paragraph, without the number of guesses and the return."""

    @abstractmethod
    def choose(self, guesses: Guesses, secrets: Sequence[str]) -> str:
        """Return the solver's guess. `secrets` are those that fit all answers."""

    def is_found(self, guesses: Guesses) -> bool:
        """Return whether the last guess found the secret."""
        return bool(guesses.made) and guesses.made[-1][0] == guesses.secret

    def list_guesses(self, guesses: Guesses) -> Sequence[str]:
        """Return the legal guesses."""
        return self.moves

    def find_secrets(self, guesses: Guesses) -> list[str]:
        """Return the secrets that fit all answers."""
        return [
            secret
            for secret in self.secrets
            if all(self.answer(secret, guess) == answer for guess, answer in guesses.made)
        ]

    def solve(self, guesses: Guesses) -> str:
        """Return the solver's guess. It does not depend on the secret."""
        return self.choose(guesses, self.find_secrets(guesses))

    def start(self) -> Guesses:
        return Guesses(None, ())

    def to_move(self, guesses: Guesses) -> tuple[int, ...]:
        if guesses.secret is None:
            return (CHANCE,)
        return () if len(guesses.made) >= self.turns or self.is_found(guesses) else (0,)

    @cached_property
    def _outcomes(self) -> Mapping[str, float]:
        return dict.fromkeys(self.secrets, 1.0)

    def chance(self, guesses: Guesses) -> Mapping[str, float]:
        return self._outcomes

    def legal_moves(self, guesses: Guesses, seat: int) -> Sequence[str]:
        return self.list_guesses(guesses)

    def play(self, guesses: Guesses, moves: Mapping[int, str]) -> Guesses:
        if CHANCE in moves:
            return guesses._replace(secret=moves[CHANCE])
        assert guesses.secret is not None
        return guesses._replace(made=(*guesses.made, (moves[0], self.answer(guesses.secret, moves[0]))))

    def returns(self, guesses: Guesses) -> tuple[float, ...]:
        return (float(self.is_found(guesses)),)

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"{self.name}, {quantity(self.turns, 'guess', 'guesses')}\n"
        return f"{self.explain()} You have {quantity(self.turns, 'guess', 'guesses')}.\n"

    def position(self, guesses: Guesses, seat: int, style: Style) -> str:
        lines = "".join(f"{guess}: {answer}\n" for guess, answer in guesses.made)
        left = self.turns - len(guesses.made)
        if style == "compact":
            return f"{lines}left {left}\n"
        return f"{'Your guesses so far:' if lines else 'No guess yet.'}\n{lines}Guesses left: {left}.\n"

    def view(self, guesses: Guesses, seat: int) -> str:
        return repr(guesses.made)

    def resample(self, events: Sequence[Event], seat: int, rng: random.Random) -> Sequence[Event]:
        secret, guesses = events[0].move, [event.move for event in events[1:]]
        made = tuple((guess, self.answer(secret, guess)) for guess in guesses)
        fitting = self.find_secrets(Guesses(None, made))
        return (Event(CHANCE, fitting[int(rng.random() * len(fitting))]), *events[1:])
