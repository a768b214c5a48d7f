"""Games with a single reply: chance draws a task, and the player answers it with one text."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gymposium.errors import BadRecord, GymposiumError, IllegalMove, NoSampler, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.games.registry import load_game

if TYPE_CHECKING:
    import numpy as np

    from gymposium.plugins.specs import GameSpec


class OneReplyGame(ABC):
    """A single-seat game with one free-text move, scored from 0 to 1. A subclass defines the tasks."""

    seats = 1
    utility_range = (0.0, 1.0)
    max_decisions = 1
    num_actions = 0
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = None
    task_noun: str
    """Noun for a task in error messages."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_game, (self.name,)

    def __deepcopy__(self, memo: dict[int, Any]) -> OneReplyGame:
        return self  # immutable

    @abstractmethod
    def rules(self, seat: int, style: Style = "full") -> str:
        """Return the rules as text."""

    @abstractmethod
    def new(self, seed: int) -> OneReplyMatch:
        """Return a match with the task that this seed draws."""

    @abstractmethod
    def make_match(self, drawn: Event, seed: int | None) -> OneReplyMatch:
        """Return a match with the task from an event. Raises `BadRecord` if the event is not a task."""

    def load(self, events: Sequence[Event], seed: int | None = None) -> OneReplyMatch:
        """Load a match. The first event holds the whole task, so nothing is drawn, run or read from a file.

        Without events, return a new match."""
        if not events:
            if seed is None:
                raise BadRecord(f"The record has no events. Its first event must be the {self.task_noun}.")
            return self.new(seed)
        if events[0].seat != CHANCE:
            raise BadRecord(
                f"Event 0 must be a chance event with the {self.task_noun}, not a move of seat {events[0].seat}."
            )
        match = self.make_match(events[0], seed)
        for number, (seat, move) in enumerate(events[1:], start=1):
            try:
                match.apply({seat: move})
            except GymposiumError as error:
                raise BadRecord(f"Event {number}: {error}") from error
        return match


class OneReplyMatch(ABC):
    """A match with one task, and the answer once given."""

    def __init__(self, game: OneReplyGame, drawn: Event, seed: int | None) -> None:
        self.game, self.seed = game, seed
        self.events: list[Event] = [drawn]

    @property
    def answer(self) -> str | None:
        """Return the answer, or None before it is given."""
        return self.events[1].move if len(self.events) > 1 else None

    def to_move(self) -> tuple[int, ...]:
        return (0,) if self.answer is None else ()

    def legal_moves(self, seat: int) -> None:
        return None

    def legal_actions(self, seat: int) -> list[int]:
        return []

    @abstractmethod
    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the task; after the end, also the answer and whether it is correct."""

    @abstractmethod
    def view(self, seat: int) -> str:
        """Return everything that the seat has seen."""

    @abstractmethod
    def returns(self) -> tuple[float, ...]:
        """Return the score of the answer, or 0 before it is given."""

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError(f"{self.game.name} has no tensor observation; use observation='text'.")

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        if not isinstance(moves[0], str):
            raise IllegalMove(0, moves[0], None)
        self.events.append(Event(0, moves[0]))

    def fork(self, rng: random.Random) -> OneReplyMatch:
        return self.game.load(self.events, self.seed)  # rng is unused: no chance is left to draw

    def resample(self, seat: int, rng: random.Random) -> OneReplyMatch:
        raise NoSampler(
            f"{self.game.name} has no worlds to sample, because they would reveal the answer. Use a player without "
            "search."
        )
