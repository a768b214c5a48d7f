"""Transcripts of tasks: the opening, the hidden part, and each call with its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Event
from gymposium.tasks.protocol import Result
from gymposium.tasks.tools import Call, parse_calls
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import quantity


@dataclass(frozen=True, slots=True)
class Transcript:
    """The content of a `ToolMatch`'s events."""

    opening: str
    """The task as shown in the prompt style `full`."""
    task: Mapping[str, Any]
    """The task, including the hidden answer."""
    moves: Sequence[Sequence[tuple[Call, Result]]]
    """Each move's calls with their results."""

    @classmethod
    def from_events(cls, events: Sequence[Event]) -> Transcript:
        """Build a match's transcript without its game.

        Raises `BadRecord` unless the events are a task followed by calls with their results."""
        seats = [event.seat for event in events]
        try:
            match parse_strict_json(events[0].move) if seats == [CHANCE, *[0, CHANCE] * (len(seats) // 2)] else None:
                case {"task": dict(task), "opening": {"full": str(opening)}}:
                    texts = [event.move for event in events]
                    return cls(opening, task, [*map(_pair_results, texts[1::2], texts[2::2])])
        except ValueError as error:
            raise BadRecord(f"The events must be a task, then calls with their results: {error}") from error
        raise BadRecord("The events must be a task, then moves with their results.")


def _pair_results(move: str, outcome: str) -> list[tuple[Call, Result]]:
    calls, results = parse_calls(move), []
    match parse_strict_json(outcome):
        case {"results": list(given)}:
            for one in given:
                match one:
                    case {"text": str(text), "error": bool(error), "value": value}:
                        results.append(Result(text, error, value))
    if len(results) != len(calls):
        raise ValueError(f"got {quantity(len(results), 'valid result')} for {quantity(len(calls), 'call')}")
    return [*zip(calls, results, strict=True)]
