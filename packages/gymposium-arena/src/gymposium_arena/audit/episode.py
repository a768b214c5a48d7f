"""An episode in a log, as the audit found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gymposium.errors import GymposiumError
from gymposium.records import Record


class BadLog(GymposiumError, ValueError):
    """A log, or an episode in it, that cannot be read or breaks the rules of its game."""


@dataclass(slots=True)
class Episode:
    """An episode in a log."""

    where: str
    """The file, and the line, sample or entry in it."""
    format: str
    """The library that wrote the log: `textarena`."""
    id: str
    """The episode's id: the one in the log, or one made from its place."""
    agents: tuple[str, ...] = ()
    """The agent in each seat."""
    game: str = ""
    """The game's name in gymposium; empty if unknown."""
    record: Record | None = None
    """The replayed episode; None if it could not be replayed."""
    problems: list[str] = field(default_factory=list)
    """The mismatches, each with its place in the episode; empty if there are none."""
    unfinished: str = ""
    """Why the episode has no result, if the log says so; empty otherwise."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The cause of failure of each agent whose failure ended the episode, by agent name."""

    def name_agents(self, names: Any, seats: int) -> None:
        """Name the agents as the log does, if `names` is a list of strings. Otherwise keep the user's names, or number
        the agents by seat."""
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            self.agents = tuple(names)
        elif not self.agents:
            self.agents = tuple(f"player {seat}" for seat in range(seats))

    @property
    def agrees(self) -> bool:
        """Whether the replay reached the result that the log claims."""
        return not self.problems


def fail(reason: str) -> NoReturn:
    """Raise `BadLog`."""
    raise BadLog(reason)


def entry(data: Any, key: str, kind: type | tuple[type, ...], place: str = "the episode") -> Any:
    """Return the value of a key in a log object. Raises `BadLog` if it is missing or has another type."""
    value = data.get(key) if isinstance(data, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        fail(f"{place}: {key!r} is missing or has the wrong type")
    return value
