"""The game behind tasks: a single seat whose moves are tool calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec
from gymposium.tasks.match import ToolMatch
from gymposium.tasks.one_seat import first_event
from gymposium.tasks.protocol import Tasks
from gymposium.tasks.recorded import RecordedTasks, read_tools
from gymposium.tasks.tools import Tool


class ToolGame:
    """A game whose matches are tasks in a world. Made by `tool_game`."""

    seats = 1
    num_actions = 0
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = None

    def __init__(
        self, spec: GameSpec, params: Mapping[str, Any], tasks: Tasks, record: Sequence[Event] | None = None
    ) -> None:
        """`record` holds events that supply the task and results of new matches, in place of a world."""
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        self.tasks = tasks
        self.record = None if record is None else tuple(record)
        self.utility_range = tasks.utility_range
        self.max_decisions: int = tasks.max_calls

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Tools of the world, or those in the record of an impure world.

        They are looked up on first use, because a world may have to ask a server for them."""
        recorded = () if self.record is None else read_tools(first_event(self.record))
        tools = recorded or tuple(self.tasks.tools)
        if len({tool.name for tool in tools}) != len(tools) or not tools:
            raise ValueError(f"{self.name}: a world must have at least one tool, and tool names must be unique")
        for tool in () if recorded else tools:
            try:
                tool.schema.check()
            except ValueError as error:
                raise ValueError(f"{self.name}: invalid parameters of tool {tool.name!r}: {error}") from error
        return tools

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self.tools}

    def __reduce__(self) -> tuple[Any, ...]:
        from gymposium.games.registry import load_game, load_recorded_game

        return (load_game, (self.name,)) if self.record is None else (load_recorded_game, (self.name, self.record))

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolGame:
        return self  # immutable

    def rules(self, seat: int, style: Style = "full") -> str:
        return self.tasks.rules(style)

    def new(self, seed: int) -> ToolMatch:
        return ToolMatch(self, seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> ToolMatch:
        return ToolMatch(self, seed, events)

    @property
    def pure(self) -> bool:
        return self.spec.tools == "pure"

    @property
    def at_once(self) -> int | None:
        bound: int | None = getattr(self.tasks, "at_once", None)  # of `BoundedTasks`
        return bound

    def recorded(self, events: Sequence[Event]) -> ToolGame:
        return ToolGame(self.spec, self.params, self.tasks, events)


def recorded_tool_game(spec: GameSpec, params: Mapping[str, Any], events: Sequence[Event]) -> ToolGame:
    """Return the game for a record with these events, made without its world.

    This is the `GameSpec.replay` of worlds with `tools="recorded"`.

    Raises `BadRecord` if the first event is not a task of such a world."""
    return ToolGame(spec, params, RecordedTasks.from_events(events), events)


def tool_game(spec: GameSpec, params: Mapping[str, Any], tasks: Tasks) -> ToolGame:
    """Return the game for these tasks.

    `spec` must have `seats=1`, `free_text=True`, `chance=True`, `utility="score"`, and `tools="pure"` or
    `tools="recorded"`. Raises `ValueError` otherwise."""
    expected = {"seats": 1, "free_text": True, "chance": True, "utility": "score"}
    for name, value in expected.items():
        if getattr(spec, name) != value:
            raise ValueError(f"game {spec.name}: the spec of a world must have {name}={value!r}")
    if spec.tools not in ("pure", "recorded"):
        raise ValueError(f"game {spec.name}: the spec of a world must have tools='pure' or tools='recorded'")
    return ToolGame(spec, params, tasks)
