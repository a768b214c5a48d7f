"""Protocols of worlds, which authors implement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gymposium.games.protocol import Style
from gymposium.tasks.tools import Call, Tool


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool returned."""

    text: str
    """The text that the caller reads."""
    error: bool = False
    """True if the tool refused the call; the text says why. The task goes on."""
    value: Any = None
    """JSON for records and pages, which the caller does not read."""


class World(Protocol):
    """One task under way. One coroutine at a time uses it, in one thread.

    An exception of a method means that the world broke: the match is dropped, without a result."""

    def opening(self, style: Style) -> str:
        """Return the task as the player reads it first: lines of text."""
        ...

    async def call(self, call: Call) -> Result:
        """Call a tool. Name and arguments are valid by the tool's schema."""
        ...

    def over(self) -> bool:
        """Return True once the task has ended, for example with an answer."""
        ...

    def score(self) -> float:
        """Return the score of what was done so far, within `Tasks.utility_range`."""
        ...

    def report(self) -> Mapping[str, float]:
        """Return figures besides the score, always with the same names: `{"exact": 1.0, "read": 0.5}`."""
        ...

    async def close(self) -> None:
        """Release what the world holds. Called once, in the end."""
        ...


class Tasks(Protocol):
    """The tasks of a world. Immutable and hashable."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, always the same. Asked for when they are first needed, and not to replay a world whose spec says
        `tools="recorded"`."""
        ...

    @property
    def max_calls(self) -> int:
        """Number of calls after which a task ends, 1 or more."""
        ...

    @property
    def utility_range(self) -> tuple[float, float]:
        """Least and greatest score."""
        ...

    def rules(self, style: Style) -> str:
        """Return what holds for all tasks: lines of text."""
        ...

    def task(self, seed: int) -> Mapping[str, Any]:
        """Return the task of a seed as JSON, with the hidden answer. The same for the same seed."""
        ...

    async def open(self, task: Mapping[str, Any]) -> World:
        """Begin a task."""
        ...


class BoundedTasks(Tasks, Protocol):
    """Optional protocol: tasks of which few can be open at the same time, such as those with a server for each."""

    @property
    def at_once(self) -> int | None:
        """The number of tasks that may be open at the same time in a process, 1 or more; None for any number."""
        ...
