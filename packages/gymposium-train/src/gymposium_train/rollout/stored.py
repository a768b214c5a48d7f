"""Finished matches in checkpoints, with the learner's tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import ConfigDict, TypeAdapter

from gymposium.games.protocol import Event
from gymposium.match import MatchJob, MatchResult, Turn
from gymposium.match.ending import Ending
from gymposium_agents.chat.tokens import Tokens, TurnTokens


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """A `MatchResult` without its job. Traces other than tokens are left out."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="constants")

    events: list[Event]
    turns: list[Turn]
    traces: list[TurnTokens | None]
    paid: tuple[float, ...]
    ending: Ending
    penalties: dict[int, float]
    unanswered: dict[int, Tokens]
    opening: int
    reports: tuple[dict[str, float], ...]


_ADAPTER = TypeAdapter(StoredMatch)


def match_to_json(played: MatchResult) -> str:
    """Return a finished match as one line of JSON."""
    traces = [turn.trace if isinstance(turn.trace, TurnTokens) else None for turn in played.turns]
    stored = StoredMatch(
        played.events,
        [replace(turn, trace=None) for turn in played.turns],
        traces,
        played.paid,
        played.ending,
        played.penalties,
        played.unanswered,
        played.opening,
        played.reports,
    )
    return _ADAPTER.dump_json(stored).decode()


def match_from_json(job: MatchJob, text: str) -> MatchResult:
    """Return the finished match of a job. Raises `ValueError` for invalid data."""
    stored = _ADAPTER.validate_json(text)
    return MatchResult(
        job,
        stored.events,
        [replace(turn, trace=trace) for turn, trace in zip(stored.turns, stored.traces, strict=True)],
        stored.paid,
        stored.ending,
        stored.penalties,
        dict(stored.unanswered),
        stored.opening,
        stored.reports,
    )
