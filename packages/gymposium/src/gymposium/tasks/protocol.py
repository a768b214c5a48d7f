"""Protocols for authors of worlds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gymposium.games.protocol import Style
from gymposium.tasks.tools import Call, Tool


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result."""

    text: str
    """Text for the caller."""
    error: bool = False
    """True if the tool rejected the call. The text says why, and the task continues."""
    value: Any = None
    """JSON value for records and web pages. The caller does not see it."""


class World(Protocol):
    """One task in progress.

    Only one coroutine at a time uses it, in one thread. If a method raises, the match is dropped without a result."""

    def opening(self, style: Style) -> str:
        """Return the task text that the player reads first, in lines."""
        ...

    async def call(self, call: Call) -> Result:
        """Call a tool. The name and arguments are already validated against its schema."""
        ...

    def over(self) -> bool:
        """Return whether the task has ended, for example because the player answered."""
        ...

    def score(self) -> float:
        """Return the score so far, within `Tasks.utility_range`."""
        ...

    def report(self) -> Mapping[str, float]:
        """Return figures besides the score, always with the same names: `{"exact": 1.0, "read": 0.5}`."""
        ...

    async def close(self) -> None:
        """Release the world's resources. Called once, at the end."""
        ...


class Tasks(Protocol):
    """A world's tasks. Immutable and hashable."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, which must not change.

        They are requested on first use. Replays of worlds with `tools="recorded"` do not need them."""
        ...

    @property
    def max_calls(self) -> int:
        """Maximum number of calls per task, 1 or more."""
        ...

    @property
    def utility_range(self) -> tuple[float, float]:
        """Minimum and maximum score."""
        ...

    def rules(self, style: Style) -> str:
        """Return the rules common to all tasks, as lines of text."""
        ...

    def task(self, seed: int) -> Mapping[str, Any]:
        """Return the task for a seed as JSON, with the hidden answer. The same seed must give the same task."""
        ...

    async def open(self, task: Mapping[str, Any]) -> World:
        """Open a world for a task."""
        ...


class BoundedTasks(Tasks, Protocol):
    """Optional protocol: tasks that limit how many can be open at once, for example because each needs a server."""

    @property
    def at_once(self) -> int | None:
        """Maximum number of open tasks per process, 1 or more; None for no limit."""
        ...
