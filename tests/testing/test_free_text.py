"""Free-text games pass the whole kit: guess a number in any words."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gymposium import GameSpec
from gymposium.errors import BadRecord, IllegalMove, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.util.streams import stream
from gymposium_testing import CHECKS, QUICK, CheckFailed, NotApplicable
from gymposium_testing.golden import make_transcript

SPEC = GameSpec(
    name="guess",
    title="Guess",
    summary="Name the number.",
    entry_point="nowhere:Guess",
    seats=1,
    utility="score",
    free_text=True,
    chance=True,
    information="imperfect",
)
GUESSES = 3


class Guess:
    """A number from 0 to 9 is drawn; three guesses, a point less for each wrong one."""

    spec, name, seats, max_decisions, num_actions = SPEC, "guess", 1, GUESSES, 0
    params: Mapping[str, Any] = {}
    utility_range, tensor_shape = (-float(GUESSES), 0.0), None
    move_pattern: re.Pattern[str] | None = None

    def __init__(self, match: type[GuessMatch] | None = None) -> None:
        self.match = match or GuessMatch

    def rules(self, seat: int, style: Style = "full") -> str:
        return f"I think of a number from 0 to 9. You have {GUESSES} guesses.\n"

    def new(self, seed: int) -> GuessMatch:
        return self.match(self, [Event(CHANCE, str(int(stream(seed, "chance").random() * 10)))], seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> GuessMatch:
        if not events:
            if seed is None:
                raise BadRecord("The record ends before a number is drawn.")
            return self.new(seed)
        if events[0].seat != CHANCE or events[0].move not in set("0123456789"):
            raise BadRecord("Event 0 draws no number.")
        match = self.match(self, [events[0]], seed)
        for number, event in enumerate(events[1:], start=1):
            if match.to_move() != (event.seat,):
                raise BadRecord(f"Event {number} is of seat {event.seat}, who is not to move.")
            match.apply({event.seat: event.move})
        return match


class GuessMatch:
    def __init__(self, game: Guess, events: list[Event], seed: int | None) -> None:
        self.game, self.events, self.seed = game, events, seed

    @property
    def guesses(self) -> list[str]:
        return [event.move for event in self.events[1:]]

    def to_move(self) -> tuple[int, ...]:
        return () if len(self.guesses) == GUESSES or self.events[0].move in self.guesses else (0,)

    def legal_moves(self, seat: int) -> None:
        return None

    def legal_actions(self, seat: int) -> list[int]:
        return []

    def observe(self, seat: int, style: Style = "full") -> Observation:
        told = "over" if not self.to_move() else "not yet"
        return Observation(seat, f"Guesses so far: {[*map(ascii, self.guesses)]}, {told}.\n", None)

    def view(self, seat: int) -> str:
        return f"{self.to_move()} {self.guesses!r}"

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError("no tensor")

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        self.events.append(Event(0, moves[0]))

    def returns(self) -> tuple[float, ...]:
        return (-float(len([guess for guess in self.guesses if guess != self.events[0].move])),)

    def fork(self, rng: random.Random) -> GuessMatch:
        return type(self)(self.game, list(self.events), None)

    def resample(self, seat: int, rng: random.Random) -> GuessMatch:
        left = [str(number) for number in range(10) if str(number) not in self.guesses]
        drawn = rng.choice(left) if self.to_move() else self.events[0].move
        return type(self)(self.game, [Event(CHANCE, drawn), *self.events[1:]], None)


class Deaf(GuessMatch):
    """Takes numbers alone, though it lists no moves."""

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) == set(self.to_move()) and not all(len(move) < 100 for move in moves.values()):
            raise IllegalMove(0, moves[0], None)
        super().apply(moves)


class Telling(GuessMatch):
    """Says whether the number is even."""

    def observe(self, seat: int, style: Style = "full") -> Observation:
        shown = super().observe(seat, style)
        shown.text += f"Go on{'!' if int(self.events[0].move) % 2 else '.'}\n"
        return shown


def list_failures(game: Guess, only: str = "") -> set[str]:
    """Return the names of the checks that the game fails, of all game checks or of one."""
    found = set()
    for check in CHECKS:
        if check.kind == "game" and check.name.startswith(only):
            try:
                check.run(game, 0, QUICK)
            except NotApplicable:
                continue
            except CheckFailed:
                found.add(check.name)
    return found


def test_free_text_game_passes_the_kit() -> None:
    assert list_failures(Guess()) == set()


def test_game_that_refuses_text_fails() -> None:
    assert list_failures(Guess(Deaf), "illegal_moves_change_nothing")


def test_leak_is_found_without_listed_moves() -> None:
    assert list_failures(Guess(Telling)) == {"hidden_information_stays_hidden", "environments_leak_nothing"}


def test_transcript_shows_the_written_text() -> None:
    text = make_transcript(Guess())
    assert text == make_transcript(Guess())
    assert text.count(">> seat 0: ") in range(1, GUESSES + 1)
    assert ">> chance: " in text
