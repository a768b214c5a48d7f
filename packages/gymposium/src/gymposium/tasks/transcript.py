"""The transcript of a task: its opening, its hidden part, and each call with its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Event
from gymposium.tasks.protocol import Result
from gymposium.tasks.tools import Call, calls_of
from gymposium.util.strict_json import strict_json


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the events of a `ToolMatch` say."""

    opening: str
    """The task as a player with the prompt style `full` reads it."""
    task: Mapping[str, Any]
    """The task with the hidden answer."""
    moves: Sequence[Sequence[tuple[Call, Result]]]
    """The calls of each move, each with its result."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> Transcript:
        """The transcript of a match, made without its game. Raises `BadRecord` for events that are no task followed by
        calls with their results."""
        seats = [event.seat for event in events]
        try:
            match strict_json(events[0].move) if seats == [CHANCE, *[0, CHANCE] * (len(seats) // 2)] else None:
                case {"task": dict(task), "opening": {"full": str(opening)}}:
                    texts = [event.move for event in events]
                    return cls(opening, task, [*map(_answered, texts[1::2], texts[2::2])])
        except ValueError as error:
            raise BadRecord(f"The events are no task with calls and their results: {error}") from error
        raise BadRecord("The events are not a task followed by moves and their results.")


def _answered(move: str, outcome: str) -> list[tuple[Call, Result]]:
    calls, results = calls_of(move), []
    match strict_json(outcome):
        case {"results": list(given)} if len(given) == len(calls):
            for one in given:
                match one:
                    case {"text": str(text), "error": bool(error), "value": value}:
                        results.append(Result(text, error, value))
    if len(results) != len(calls):
        raise ValueError("there is not one result for each call")
    return [*zip(calls, results, strict=True)]
