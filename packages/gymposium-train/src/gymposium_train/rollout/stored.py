"""Steps in flight in checkpoints: their sets, and their finished matches with the learner's tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ConfigDict, Json, TypeAdapter

from gymposium.games.protocol import Event
from gymposium.match import MatchJob, MatchResult, Turn
from gymposium.match.ending import Ending
from gymposium_agents.chat.tokens import Policy, Tokens, TurnTokens
from gymposium_agents.modeling.pictures import keep_picture, list_pictures


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """A `MatchResult` without its job. Traces other than tokens are left out."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="constants", ser_json_bytes="base64", val_json_bytes="base64")

    events: list[Event]
    turns: list[Turn]
    traces: list[TurnTokens | None]
    paid: tuple[float, ...]
    ending: Ending
    penalties: dict[int, float]
    unanswered: dict[int, Tokens]
    opening: int
    reports: tuple[dict[str, float], ...]
    pictures: tuple[bytes, ...]
    """The pictures in the prompts."""

    def __post_init__(self) -> None:
        if len(self.traces) != len(self.turns):
            raise ValueError(f"it has {len(self.turns)} turns but {len(self.traces)} traces")

    @classmethod
    def from_match(cls, played: MatchResult) -> StoredMatch:
        """Return a finished match in its stored form."""
        traces = [turn.trace if isinstance(turn.trace, TurnTokens) else None for turn in played.turns]
        return cls(
            played.events,
            [replace(turn, trace=None) for turn in played.turns],
            traces,
            played.paid,
            played.ending,
            played.penalties,
            played.unanswered,
            played.opening,
            played.reports,
            tuple(list_pictures(*(trace.prompt for trace in traces if trace), *played.unanswered.values())),
        )

    def to_match(self, job: MatchJob) -> MatchResult:
        """Return the finished match of a job. Keeps its pictures for the learner's model."""
        for picture in self.pictures:
            keep_picture(picture)
        return MatchResult(
            job,
            self.events,
            [replace(turn, trace=trace) for turn, trace in zip(self.turns, self.traces, strict=True)],
            self.paid,
            self.ending,
            self.penalties,
            dict(self.unanswered),
            self.opening,
            self.reports,
        )


@dataclass(frozen=True, slots=True)
class StoredSet:
    """What `MatchPlanner.restore_sets` needs to plan a set again. The fields are those of `PlannedGroup`."""

    number: int
    game: str
    seat: int
    opponent: str
    version: Policy | None
    stage: int
    jobs: tuple[str, ...]
    """The ids of the set's matches."""


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step in flight, with the fields of `StepMatches`."""

    weights: int
    planned: int
    ended: int
    """Number of sets that have ended."""
    replaced: tuple[int, ...]
    sets: tuple[StoredSet, ...]
    finished: dict[str, Json[StoredMatch]]
    """The finished matches by id. Each is one line of JSON in the checkpoint."""

    def __post_init__(self) -> None:
        if unknown := self.finished.keys() - {match for one in self.sets for match in one.jobs}:
            raise ValueError(f"no set has the finished match {min(unknown)}")

    def to_data(self) -> Any:
        """Return the step as plain data."""
        return _STEP.dump_python(self, mode="json", round_trip=True)

    @classmethod
    def from_data(cls, data: Any) -> StoredStep:
        """Return the step that `to_data` returned. Raises `ValueError` for damaged data."""
        return _STEP.validate_python(data)


_STEP = TypeAdapter(StoredStep)
