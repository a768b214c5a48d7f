"""A run's sampled rollouts for people to read: samples.jsonl, with one trajectory group per line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gymposium.errors import BadRecord
from gymposium.runs.growing import GrowingIndex, GrowingLine
from gymposium.util.plain_file import open_plain
from gymposium.util.visible import quantity

FORMAT = "gymposium-samples-1"

Count = Annotated[int, Field(ge=0)]


class _SampledModel(BaseModel):
    """Base class of the models in a line. It requires exact types and finite numbers."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class SampledTurn(_SampledModel):
    """The tokens sampled in one turn, from `start` up to `stop` in its row. Lists have one entry per token."""

    start: Count
    stop: Count
    engine: list[float]
    """Log-probabilities reported by the engine."""
    old: list[float]
    """The learner's log-probabilities before the update; empty if the engine's log-probabilities were used instead."""
    reference: list[float]
    """Log-probabilities of the reference policy; empty without one."""
    weight: float
    """Weight of each token in the loss."""


class SampledRow(_SampledModel):
    """A sequence of tokens. Tokens outside its turns were input to the model and are masked in the loss."""

    ids: list[Count]
    pieces: list[str]
    turns: list[SampledTurn]

    @model_validator(mode="after")
    def _check_tokens(self) -> Self:
        if len(self.ids) != len(self.pieces):
            raise ValueError(f"{len(self.pieces)} pieces of text for {len(self.ids)} tokens; give one per token")
        ends = [0, *(end for turn in self.turns for end in (turn.start, turn.stop)), len(self.ids)]
        if ends != sorted(ends):
            raise ValueError("the turns overlap or are out of order; sort them by their tokens")
        for turn in self.turns:
            tokens = turn.stop - turn.start
            if len(turn.engine) != tokens or not {len(turn.old), len(turn.reference)} <= {0, tokens}:
                raise ValueError(
                    f"the turn from token {turn.start} to {turn.stop} needs {tokens} log-probabilities, one per token"
                )
        return self


class SampledTrajectory(_SampledModel):
    """One seat's turns in one match, with its rewards and advantages. Lists have one entry per turn."""

    match: str | None
    policy: Count
    result: str
    end: str | None
    returned: float = Field(alias="return")
    reward: float
    parts: dict[str, float]
    readings: list[str]
    rewards: list[float]
    advantages: list[float]
    values: list[float]
    targets: list[float]
    rows: list[SampledRow] | None = None
    """Token rows; None if the tokens were not kept."""

    @model_validator(mode="after")
    def _check_turns(self) -> Self:
        turns = len(self.readings)
        for name in ("rewards", "advantages", "values", "targets"):
            if len(getattr(self, name)) not in ({turns} if name in ("rewards", "advantages") else {0, turns}):
                raise ValueError(
                    f"{name} has {len(getattr(self, name))} entries for {quantity(turns, 'turn')}; give one per turn"
                )
        if self.rows is not None and (count := sum(len(row.turns) for row in self.rows)) != turns:
            raise ValueError(f"rows has {quantity(count, 'turn')}, but readings has {turns}; give one reading per turn")
        return self


class SampledGroup(_SampledModel):
    """A group of trajectories that share a baseline."""

    step: Count
    number: Count = Field(alias="group")
    game: str
    seat: Count
    opponent: str
    version: str | None
    stage: Count
    tied: bool
    trajectories: list[SampledTrajectory] = Field(min_length=1)

    @property
    def best_first(self) -> list[SampledTrajectory]:
        """Return the trajectories in order of decreasing reward. Among equal rewards, those with tokens come first."""
        return sorted(self.trajectories, key=lambda trajectory: (-trajectory.reward, trajectory.rows is None))

    @property
    def spread(self) -> float:
        """Standard deviation of the rewards."""
        mean = self.mean
        return math.sqrt(math.fsum((t.reward - mean) ** 2 for t in self.trajectories) / len(self.trajectories))

    @property
    def mean(self) -> float:
        """Mean reward."""
        return math.fsum(trajectory.reward for trajectory in self.trajectories) / len(self.trajectories)


def parse_group(line: bytes) -> SampledGroup:
    """Parse a group from one line. Raises `BadRecord` with the problem if the line is invalid."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadRecord(f"not samples in format {FORMAT!r}")
    try:
        return SampledGroup.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRecord(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


_PLACE = re.compile(rb'\{"format":"[\w-]*","step":(\d{1,15}),"group":(\d{1,15}),')
"""Pattern for the start of a line. It identifies the group without parsing thousands of tokens."""


@dataclass(slots=True)
class SamplesIndex(GrowingIndex):
    """An index of each group's location in the file. If a step is repeated, its last lines count."""

    _places: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Byte offsets of a line's start and end, by step and group."""

    def _clear(self) -> None:
        self._places = {}

    def _add(self, line: GrowingLine) -> None:
        if (place := _PLACE.match(line.text)) and line.text.rstrip().endswith(b"]}"):
            key = int(place[1]), int(place[2])
        else:
            group = parse_group(line.text)
            key = group.step, group.number
        self._places[key] = line.start, line.stop

    def places(self) -> list[tuple[int, int]]:
        """Return every group's step and number, in order."""
        with self._lock:
            return sorted(self._places)

    def line(self, step: int, number: int) -> bytes | None:
        """Return the line for this step and group number, or None."""
        place = self._places.get((step, number))
        if place is None:
            return None
        with open_plain(self.path) as file:
            file.seek(place[0])
            return file.read(place[1] - place[0])

    def group(self, step: int, number: int) -> SampledGroup | None:
        """Return the group for this step and number, or None. Raises `BadRecord` if its line is invalid."""
        line = self.line(step, number)
        return None if line is None else parse_group(line)


def pick_spread(rewards: Sequence[float], most: int) -> list[int]:
    """Return the indices of at most `most` rewards: the highest, the lowest, then others spread evenly between them."""
    order = sorted(range(len(rewards)), key=lambda n: rewards[n], reverse=True)
    if len(order) <= most:
        return order
    return [order[round(k * (len(order) - 1) / max(1, most - 1))] for k in range(most)]


def pick_first_replies(data: Mapping[str, Any], most: int = 3) -> list[tuple[str, float]]:
    """Return the first replies of trajectories in a `samples.jsonl` line, each with the trajectory's reward.

    At most `most` are returned: those with the highest and the lowest reward, and others spread evenly between them.
    Only trajectories with tokens count."""
    kept = [trajectory for trajectory in data["trajectories"] if trajectory.get("rows")]
    replies = []
    for n in pick_spread([trajectory["reward"] for trajectory in kept], most):
        row = kept[n]["rows"][0]
        turn = row["turns"][0]
        replies.append(("".join(row["pieces"][turn["start"] : turn["stop"]]), kept[n]["reward"]))
    return replies
