"""Tasks of worlds for their pages: calls of tools with their results, and where the hidden answer's values were found.

All of it is made from the events of a match, without its game.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.tasks import Result
from gymposium.tasks.tools import Call
from gymposium.tasks.transcript import Transcript
from gymposium.util.strict_json import strict_json
from gymposium_viewer.pages import shortened

SHORT = 1000
"""Number of characters up to which a result is shown unfolded."""
_LONGEST = 21_000
"""Number of characters of a result that are shown; a result that the core has cut is shown whole."""
_LONGEST_ARGUMENT = 4000
"""Number of characters of an argument that are shown."""
_MOST_VALUES, _SHORTEST_VALUE, _LONGEST_VALUE, _LONGEST_PATH = 100, 2, 200, 120
"""Number of values of a task that are looked for in results, their lengths, and that of their paths."""
_MOST_SEARCHED = 2_000_000
"""Number of characters of all results in which they are looked for."""


@dataclass(slots=True)
class ShownCall:
    """A call of a tool with its result, as a page shows them."""

    name: str
    arguments: list[tuple[str, str]]
    """Names and values; a text is not in quotation marks if nothing else reads like it."""
    result: str
    size: int
    """Number of characters of the whole result."""
    error: bool
    value: str
    """JSON of the result; empty if it has none."""

    @classmethod
    def of(cls, call: Call, result: Result) -> ShownCall:
        """A recorded call."""
        return cls(
            call.name,
            [(name, shortened(_readable(value), _LONGEST_ARGUMENT)) for name, value in call.arguments.items()],
            shortened(result.text, _LONGEST),
            len(result.text),
            result.error,
            "" if result.value is None else _indented(result.value),
        )

    @property
    def is_short(self) -> bool:
        """True if the result is shown unfolded."""
        return self.size <= SHORT

    @property
    def brief(self) -> str:
        """The tool and the values of its arguments, for a list."""
        return f"{self.name} {', '.join(value for _, value in self.arguments)}".rstrip()


@dataclass(slots=True)
class Whereabouts:
    """A value of a task that results have."""

    value: str
    path: str
    """Where the value stands in the task: `answer.accepted.0`."""
    steps: list[int]
    """Numbers of the steps whose results have the value."""


@dataclass(slots=True)
class ShownTask:
    """A task, as a page shows it."""

    opening: str
    json: str
    """The task with its hidden answer, as JSON."""
    found: list[Whereabouts]

    @classmethod
    def of(cls, told: Transcript, steps: Sequence[int]) -> ShownTask:
        """A recorded task. `steps` has the number of the step of each move."""
        return cls(told.opening, _indented(told.task), [*_found(told, steps)])


def _found(told: Transcript, steps: Sequence[int]) -> Iterator[Whereabouts]:
    """The values of the task that stand as whole words in results."""
    texts, room = [], _MOST_SEARCHED
    for step, move in zip(steps, told.moves, strict=False):
        texts.append((step, "\n".join(result.text[:_LONGEST] for _, result in move)[:room]))
        room -= len(texts[-1][1])
    for value, path in _values(told.task).items():
        text = re.escape(value)
        word = re.compile(rf"{text}(?!\w)(?<!\w{text})")  # a pattern that begins with its text is found much faster
        if found := [step for step, result in texts if word.search(result)]:
            yield Whereabouts(value, path, found)


def _values(task: Any) -> dict[str, str]:
    """The first texts and numbers of a task, numbers as text, each with its first path."""
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


def _readable(value: Any) -> str:
    """A value without quotation marks if it is a text that nothing else reads like."""
    if not isinstance(value, str):
        return _json(value)
    try:
        strict_json(value)
    except ValueError:
        return value if value.strip() else _json(value)
    return _json(value)


def _indented(value: Any) -> str:
    """JSON in lines, or in one line if it is too long to be shown whole."""
    text = _json(value)
    return shortened(text if len(text) > _LONGEST else _json(value, indent=2), _LONGEST)


def _json(value: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except RecursionError:  # from hundreds of nested brackets
        return "(it is nested too deeply to be shown)"
