"""One episode of a log, as the audit found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gymposium.errors import GymposiumError
from gymposium.records import Record


class BadLog(GymposiumError, ValueError):
    """A log, or an episode in it, cannot be read, or does not follow from the rules of its game."""


@dataclass(slots=True)
class Episode:
    """An episode of a log."""

    where: str
    """The file, and the line, sample or entry in it."""
    format: str
    """The library that wrote the log: `textarena`."""
    id: str
    """The episode's id, as the log has it or made from its place."""
    agents: tuple[str, ...] = ()
    """The agent in each seat."""
    game: str = ""
    """The game's name in gymposium; empty if that was not found."""
    record: Record | None = None
    """The episode as the driver played it again; None if that was not possible."""
    problems: list[str] = field(default_factory=list)
    """What does not agree, each with the place in the episode; empty if all does."""
    unfinished: str = ""
    """Why the episode has no result, if the log says so itself; empty otherwise."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The cause of failure of each agent that ended the episode by failing, by the agent's name."""

    def name_agents(self, names: Any, seats: int) -> None:
        """Name the agents as the log does, if `names` is a list of texts. Otherwise they keep the names that the user
        gave, or get the numbers of their seats."""
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            self.agents = tuple(names)
        elif not self.agents:
            self.agents = tuple(f"player {seat}" for seat in range(seats))

    @property
    def agrees(self) -> bool:
        """True if the episode was played again to the result that the log claims."""
        return not self.problems


def fail(reason: str) -> NoReturn:
    """Raise `BadLog`."""
    raise BadLog(reason)


def entry(data: Any, key: str, kind: type | tuple[type, ...], place: str = "the episode") -> Any:
    """The value of a key in an object of a log. Raises `BadLog` if it is missing or of another type."""
    value = data.get(key) if isinstance(data, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        fail(f"{place} has no {key!r} of the right form")
    return value
