"""A run's sampled rollouts for people to read: samples.jsonl, with one trajectory group per line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import BadRecord
from gymposium.runs.growing import GrowingIndex, GrowingLine
from gymposium.util.plain_file import open_plain

FORMAT = "gymposium-samples-1"


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """One turn's sampled tokens: those from `start` up to `stop` in its row. Lists have one entry per token."""

    start: int
    stop: int
    engine: list[float]
    """Log-probabilities reported by the engine."""
    old: list[float]
    """The learner's log-probabilities before the update; empty if the engine's were used instead."""
    reference: list[float]
    """Log-probabilities of the reference policy; empty without one."""
    weight: float
    """Weight of each token in the loss."""


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A sequence of tokens. Tokens outside its turns were given to the model and are masked in the loss."""

    ids: list[int]
    pieces: list[str]
    turns: list[SampledTurn]


@dataclass(frozen=True, slots=True)
class SampledTrajectory:
    """One seat's turns in one match, with its rewards and advantages. Lists have one entry per turn."""

    match: str | None
    policy: int
    result: str
    end: str | None
    returned: float
    reward: float
    parts: dict[str, float]
    readings: list[str]
    rewards: list[float]
    advantages: list[float]
    values: list[float]
    targets: list[float]
    rows: list[SampledRow] | None
    """The tokens; None if they were not kept."""


@dataclass(frozen=True, slots=True)
class SampledGroup:
    """A group of trajectories that share a baseline."""

    step: int
    number: int
    game: str
    seat: int
    opponent: str
    version: str | None
    stage: int
    tied: bool
    trajectories: list[SampledTrajectory]

    @property
    def best_first(self) -> list[SampledTrajectory]:
        """Return the trajectories by decreasing reward. Among equals, those with tokens come first."""
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
    """Parse a group from one line. Raises `BadRecord` with the problem."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadRecord(f"not samples in format {FORMAT!r}")
    try:
        return _build_group(data)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"fields are missing or invalid ({error})") from error


_PLACE = re.compile(rb'\{"format":"[\w-]*","step":(\d{1,15}),"group":(\d{1,15}),')
"""Start of a line as written by training. It identifies the group without parsing thousands of tokens."""


@dataclass(slots=True)
class SamplesIndex(GrowingIndex):
    """An index of each group's location in the file. For a repeated step, the last lines count."""

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
    """Return indices of at most `most` rewards: the highest, the lowest, then others evenly between them."""
    order = sorted(range(len(rewards)), key=lambda n: rewards[n], reverse=True)
    if len(order) <= most:
        return order
    return [order[round(k * (len(order) - 1) / max(1, most - 1))] for k in range(most)]


def pick_first_replies(data: Mapping[str, Any], most: int = 3) -> list[tuple[str, float]]:
    """Return first replies of trajectories in a `samples.jsonl` line, each with the trajectory's reward.

    At most `most` are returned: the highest and the lowest reward, and others evenly between them. Only trajectories
    with tokens count."""
    kept = [trajectory for trajectory in data["trajectories"] if trajectory.get("rows")]
    replies = []
    for n in pick_spread([trajectory["reward"] for trajectory in kept], most):
        row = kept[n]["rows"][0]
        turn = row["turns"][0]
        replies.append(("".join(row["pieces"][turn["start"] : turn["stop"]]), kept[n]["reward"]))
    return replies


def _build_group(data: dict[str, Any]) -> SampledGroup:
    trajectories = [_build_trajectory(trajectory) for trajectory in data["trajectories"]]
    if not trajectories:
        raise ValueError("there is no trajectory")
    return SampledGroup(
        step=_check_count(data["step"]),
        number=_check_count(data["group"]),
        game=_check_text(data["game"]),
        seat=_check_count(data["seat"]),
        opponent=_check_text(data["opponent"]),
        version=_check_optional_text(data["version"]),
        stage=_check_count(data["stage"]),
        tied=bool(data["tied"]),
        trajectories=trajectories,
    )


def _build_trajectory(data: dict[str, Any]) -> SampledTrajectory:
    trajectory = SampledTrajectory(
        match=_check_optional_text(data["match"]),
        policy=_check_count(data["policy"]),
        result=_check_text(data["result"]),
        end=_check_optional_text(data["end"]),
        returned=_check_number(data["return"]),
        reward=_check_number(data["reward"]),
        parts={_check_text(name): _check_number(value) for name, value in data["parts"].items()},
        readings=[_check_text(reading) for reading in data["readings"]],
        rewards=_check_numbers(data["rewards"]),
        advantages=_check_numbers(data["advantages"]),
        values=_check_numbers(data["values"]),
        targets=_check_numbers(data["targets"]),
        rows=[_build_row(row) for row in data["rows"]] if "rows" in data else None,
    )
    turns = len(trajectory.readings)
    for name in ("rewards", "advantages", "values", "targets"):
        if len(getattr(trajectory, name)) not in ({turns} if name in ("rewards", "advantages") else {0, turns}):
            raise ValueError(f"{name} must have one entry per turn")
    if trajectory.rows is not None and sum(len(row.turns) for row in trajectory.rows) != turns:
        raise ValueError("the rows must contain all turns")
    return trajectory


def _build_row(data: dict[str, Any]) -> SampledRow:
    row = SampledRow(
        [_check_count(token) for token in data["ids"]], [_check_text(piece) for piece in data["pieces"]], []
    )
    if len(row.ids) != len(row.pieces):
        raise ValueError("there must be one piece of text per token")
    stop = 0
    for fields in data["turns"]:
        turn = SampledTurn(
            _check_count(fields["start"]),
            _check_count(fields["stop"]),
            _check_numbers(fields["engine"]),
            _check_numbers(fields["old"]),
            _check_numbers(fields["reference"]),
            _check_number(fields["weight"]),
        )
        if not stop <= turn.start <= turn.stop <= len(row.ids):
            raise ValueError("the turns overlap or are out of order")
        stop, tokens = turn.stop, turn.stop - turn.start
        if len(turn.engine) != tokens or not {len(turn.old), len(turn.reference)} <= {0, tokens}:
            raise ValueError("there must be one log-probability per token")
        row.turns.append(turn)
    return row


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def _check_optional_text(value: Any) -> str | None:
    return None if value is None else _check_text(value)


def _check_count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.40} is not a count")
    return value


def _check_number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is not a number")
    return float(value)


def _check_numbers(values: Sequence[Any]) -> list[float]:
    return [_check_number(value) for value in values]
