"""Display data for tasks in worlds: tool calls with their results, and results that contain values from the hidden
answer.

It is derived from the match's events, without loading the game.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.tasks import Result
from gymposium.tasks.tools import Call
from gymposium.tasks.transcript import Transcript
from gymposium.util.strict_json import parse_strict_json
from gymposium_viewer.pages import format_json, shorten

SHORT = 1000
"""Maximum number of characters in a result that is shown unfolded."""
_LONGEST = 21_000
"""Maximum number of characters shown from a result. A result that the core has shortened is shown completely."""
_LONGEST_ARGUMENT = 4000
"""Maximum number of characters shown from an argument."""
_MOST_VALUES, _SHORTEST_VALUE, _LONGEST_VALUE, _LONGEST_PATH = 100, 2, 200, 120
"""Limits on the task values searched for in results: their number, minimum and maximum length, and path length."""
_MOST_SEARCHED = 2_000_000
"""Maximum number of characters of results to search."""


@dataclass(slots=True)
class CallView:
    """A tool call with its result, as shown on a page."""

    name: str
    arguments: list[tuple[str, str]]
    """Argument names and values. Text is quoted only if it would otherwise parse as another JSON value."""
    result: str
    size: int
    """Number of characters in the complete result."""
    error: bool
    value: str
    """The result's JSON value as text; empty if it has none."""

    @classmethod
    def from_call(cls, call: Call, result: Result) -> CallView:
        """Return a recorded call, formatted for display."""
        return cls(
            call.name,
            [(name, shorten(_format_value(value), _LONGEST_ARGUMENT)) for name, value in call.arguments.items()],
            shorten(result.text, _LONGEST),
            len(result.text),
            result.error,
            "" if result.value is None else _format_lines(result.value),
        )

    @property
    def is_short(self) -> bool:
        """Whether the result is shown unfolded."""
        return self.size <= SHORT

    @property
    def summary(self) -> str:
        """The tool and its argument values, for a list."""
        return f"{self.name} {', '.join(value for _, value in self.arguments)}".rstrip()


@dataclass(slots=True)
class FoundValue:
    """A task value that occurs in results."""

    value: str
    path: str
    """The value's place in the task: `answer.accepted.0`."""
    steps: list[int]
    """Numbers of the steps whose results contain the value."""


@dataclass(slots=True)
class TaskView:
    """A task, as shown on a page."""

    opening: str
    json: str
    """The task with its hidden answer, as JSON."""
    found: list[FoundValue]

    @classmethod
    def from_transcript(cls, told: Transcript, steps: Sequence[int]) -> TaskView:
        """Return a recorded task. `steps` has the step number of each move."""
        return cls(told.opening, _format_lines(told.task), [*_find_values(told, steps)])


def _find_values(told: Transcript, steps: Sequence[int]) -> Iterator[FoundValue]:
    """Yield the task values that appear as whole words in results."""
    texts, space = [], _MOST_SEARCHED
    for step, move in zip(steps, told.moves, strict=False):
        texts.append((step, "\n".join(result.text[:_LONGEST] for _, result in move)[:space]))
        space -= len(texts[-1][1])
    for value, path in _collect_values(told.task).items():
        text = re.escape(value)
        word = re.compile(rf"{text}(?!\w)(?<!\w{text})")  # patterns that begin with their text match much faster
        if found := [step for step, result in texts if word.search(result)]:
            yield FoundValue(value, path, found)


def _collect_values(task: Any) -> dict[str, str]:
    """Return the first texts and numbers in a task, each as text with its first path."""
    values: dict[str, str] = {}
    waiting = [("", task)]
    while waiting and len(values) < _MOST_VALUES:
        path, value = waiting.pop()
        if isinstance(value, dict | list):
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            waiting += [(f"{path}.{name}".lstrip(".")[:_LONGEST_PATH], inside) for name, inside in reversed(items)]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            text = str(value).strip()
            if _SHORTEST_VALUE <= len(text) <= _LONGEST_VALUE:
                values.setdefault(text, path)
    return values


def _format_value(value: Any) -> str:
    """Return a value as JSON. Text has no quotation marks unless it would parse as another value."""
    if not isinstance(value, str):
        return format_json(value)
    try:
        parse_strict_json(value)
    except ValueError:
        return value if value.strip() else format_json(value)
    return format_json(value)


def _format_lines(value: Any) -> str:
    """Return JSON indented over several lines, or on one line if it is too long to show completely."""
    text = format_json(value)
    return shorten(text if len(text) > _LONGEST else format_json(value, indent=2), _LONGEST)
