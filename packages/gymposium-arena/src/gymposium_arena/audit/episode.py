"""The audit's result for one logged episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gymposium.errors import GymposiumError
from gymposium.records import Record


class BadLog(GymposiumError, ValueError):
    """An unreadable log, or an episode that breaks the rules of its game."""


@dataclass(slots=True)
class Episode:
    """A logged episode and its audit."""

    where: str
    """The episode's file, with the line, sample or archive entry."""
    format: str
    """The library that wrote the log, such as `textarena`."""
    id: str
    """The episode's id from the log, or else its location."""
    agents: tuple[str, ...] = ()
    """The agent in each seat."""
    game: str = ""
    """The game's name in gymposium; empty if unknown."""
    record: Record | None = None
    """The record of the replay; None if the replay failed or has no result."""
    problems: list[str] = field(default_factory=list)
    """The mismatches, each with its location in the episode."""
    unfinished: str = ""
    """Why the episode has no result; empty if it has one."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The failures that ended the episode: each cause, by agent."""
    seats: tuple[int, ...] = ()
    """The seats whose trajectories were read, if the log has a document for each seat; otherwise ()."""

    def name_agents(self, names: Any, seats: int) -> None:
        """Use the log's agent names if `names` is a list of strings. Otherwise, use the user's names or else seat
        numbers."""
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            self.agents = tuple(names)
        elif not self.agents:
            self.agents = tuple(f"player {seat}" for seat in range(seats))

    def add_seat(self, other: Episode) -> bool:
        """Add another seat's document of the same match. Returns False if it is not one."""
        if set(other.seats) <= set(self.seats) or (other.record, other.unfinished) != (self.record, self.unfinished):
            return False
        self.seats += other.seats
        return True

    @property
    def agrees(self) -> bool:
        """Whether the replay matches the log."""
        return not self.problems


def fail(reason: str) -> NoReturn:
    """Raise `BadLog`."""
    raise BadLog(reason)


def get_entry(data: Any, key: str, kind: type | tuple[type, ...], place: str = "the episode") -> Any:
    """Return the value of a key in a JSON object. Raises `BadLog` if it is missing or not of type `kind`."""
    value = data.get(key) if isinstance(data, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        fail(f"{place}: {key!r} is missing or has the wrong type")
    return value
