"""Shared code for single-seat free-text matches whose moves wait for something external."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol, cast

from gymposium.errors import BadRecord
from gymposium.games.protocol import Event, Game

if TYPE_CHECKING:
    import numpy as np


def get_first_event(record: Sequence[Event]) -> Event:
    """Return a record's first event, which holds the task. Raises `BadRecord` if there is no event."""
    if not record:
        raise BadRecord("The record has no events: the match broke off before its first event.")
    return record[0]


class NamedGame(Protocol):
    """Protocol for the part of a game that such a match reads."""

    name: str


class OneSeatMatch(ABC):
    """Base class of single-seat free-text matches."""

    def __init__(self, game: NamedGame) -> None:
        self._owner = game

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Return whether the match is over."""

    @abstractmethod
    def begin_moves(self, moves: Mapping[int, str]) -> Future[tuple[Event, Event]]:
        """Start playing the seat's move. The future returns the move and its outcome."""

    @abstractmethod
    def finish_moves(self, done: Future[tuple[Event, Event]]) -> None:
        """Apply the outcome of the seat's move."""

    @property
    def game(self) -> Game:
        return cast(Game, self._owner)

    def to_move(self) -> tuple[int, ...]:
        return () if self.is_over else (0,)

    def legal_moves(self, seat: int) -> list[str] | None:
        return None

    def legal_actions(self, seat: int) -> list[int]:
        return []

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError(f"{self._owner.name} has no tensor observation; use observation='text'.")

    def apply(self, moves: Mapping[int, str]) -> None:
        done = self.begin_moves(moves)
        done.exception()  # waits; `finish_moves` raises it
        self.finish_moves(done)
