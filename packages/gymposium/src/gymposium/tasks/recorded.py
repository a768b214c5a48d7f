"""Descriptions of recorded worlds, for replays without the world or its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, get_args

from gymposium.errors import BadRecord, NotResumable
from gymposium.games.protocol import Event, Style
from gymposium.tasks.protocol import Tasks, World
from gymposium.tasks.tools import Tool
from gymposium.util.strict_json import parse_strict_json

STYLES: tuple[Style, ...] = get_args(Style)
_NOT_NOW = "A recorded match cannot continue, because its tools may now return different results. Start a new match."


@dataclass(frozen=True, eq=False)
class RecordedTasks:
    """A world's tasks, restored from a match's record."""

    max_calls: int
    utility_range: tuple[float, float]
    tools: tuple[Tool, ...]
    _rules: Mapping[str, str]

    @classmethod
    def from_events(cls, events: Sequence[Event]) -> Self:
        """Return the tasks described in the first event. Raises `BadRecord` without a description."""
        if not events:
            return cls(1, (0.0, 1.0), (), dict.fromkeys(STYLES, ""))  # the match broke off before the task
        try:
            match parse_strict_json(events[0].move):
                case {"max_calls": int(calls), "utility_range": [int() | float() as least, int() | float() as most],
                      "rules": {"full": str(), "compact": str()} as rules} if calls >= 1:  # fmt: skip
                    return cls(calls, (float(least), float(most)), read_tools(events[0]), rules)
        except (ValueError, OverflowError) as error:
            raise BadRecord(f"Event 0 is not a task: {error} in {events[0].move[:80]!r}") from error
        raise BadRecord(
            "Event 0 must have the world's rules, maximum number of calls and score range, not "
            f"{events[0].move[:80]!r}."
        )

    def rules(self, style: Style) -> str:
        return self._rules[style]

    def task(self, seed: int) -> Mapping[str, Any]:
        raise NotResumable(_NOT_NOW)

    async def open(self, task: Mapping[str, Any]) -> World:
        raise NotResumable(_NOT_NOW)


def describe_tasks(tools: Sequence[Tool], tasks: Tasks) -> dict[str, Any]:
    """Return an impure world's description for the first event."""
    return {
        "tools": [tool.as_dict for tool in tools],
        "rules": {style: tasks.rules(style) for style in STYLES},
        "max_calls": tasks.max_calls,
        "utility_range": [*tasks.utility_range],
    }


def read_tools(event: Event) -> tuple[Tool, ...]:
    """Return the tools in a match's first event, or () for a pure world, which does not record them.

    Raises `BadRecord` for an event that is not a task."""
    try:
        return tuple(Tool(**tool) for tool in parse_strict_json(event.move).get("tools", ()))
    except (ValueError, TypeError, AttributeError) as error:
        raise BadRecord(f"Event 0 must be a task with its tools, not {event.move[:80]!r}.") from error
