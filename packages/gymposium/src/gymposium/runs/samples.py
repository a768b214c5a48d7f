"""The sampled rollouts of a run, which it keeps for people to read: samples.jsonl, one group of trajectories a line."""

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
class KeptTurn:
    """The sampled tokens of one turn: those of its row from `start` up to `stop`. Lists have an entry for each."""

    start: int
    stop: int
    engine: list[float]
    """Log-probabilities that the engine reported."""
    old: list[float]
    """Log-probabilities of the learner before the update; empty if those of the engine were used instead."""
    reference: list[float]
    """Log-probabilities of the reference policy; empty without one."""
    weight: float
    """Weight of each of the tokens in the loss."""


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A sequence of tokens. Those outside of its turns were given to the model, and are masked in the loss."""

    ids: list[int]
    pieces: list[str]
    turns: list[KeptTurn]


@dataclass(frozen=True, slots=True)
class KeptTrajectory:
    """One seat's turns in one match, with its rewards and advantages. Lists have an entry for each turn."""

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
    rows: list[KeptRow] | None
    """The tokens; None if they were not kept."""


@dataclass(frozen=True, slots=True)
class KeptGroup:
    """A group of trajectories, which share a baseline."""

    step: int
    number: int
    game: str
    seat: int
    opponent: str
    version: str | None
    stage: int
    tied: bool
    trajectories: list[KeptTrajectory]

    @property
    def best_first(self) -> list[KeptTrajectory]:
        """The trajectories by falling reward; of equal ones those with tokens first."""
        return sorted(self.trajectories, key=lambda trajectory: (-trajectory.reward, trajectory.rows is None))

    @property
    def spread(self) -> float:
        """The standard deviation of the rewards."""
        mean = self.mean
        return math.sqrt(math.fsum((t.reward - mean) ** 2 for t in self.trajectories) / len(self.trajectories))

    @property
    def mean(self) -> float:
        """The mean reward."""
        return math.fsum(trajectory.reward for trajectory in self.trajectories) / len(self.trajectories)


def parse(line: bytes) -> KeptGroup:
    """The group in one line. Raises `BadRecord` with what is wrong with the line."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadRecord(f"not samples of format {FORMAT!r}")
    try:
        return _group(data)
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"fields are missing or wrong ({error})") from error


_PLACE = re.compile(rb'\{"format":"[\w-]*","step":(\d+),"group":(\d+),')
"""The beginning of a line as training writes it. It tells the group without parsing thousands of tokens."""


@dataclass(slots=True)
class SamplesIndex(GrowingIndex):
    """The place of each group in the file. If a step was repeated, its last lines count."""

    _places: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Byte offsets of the beginning and the end of a line, by step and group."""

    def _clear(self) -> None:
        self._places = {}

    def _add(self, line: GrowingLine) -> None:
        if (place := _PLACE.match(line.text)) and line.text.rstrip().endswith(b"]}"):
            key = int(place[1]), int(place[2])
        else:
            group = parse(line.text)
            key = group.step, group.number
        self._places[key] = line.start, line.stop

    def places(self) -> list[tuple[int, int]]:
        """The step and the number of every group, in order."""
        with self._lock:
            return sorted(self._places)

    def line(self, step: int, number: int) -> bytes | None:
        """The line of the group of this step and number, or None."""
        place = self._places.get((step, number))
        if place is None:
            return None
        with open_plain(self.path) as file:
            file.seek(place[0])
            return file.read(place[1] - place[0])

    def group(self, step: int, number: int) -> KeptGroup | None:
        """The group of this step and number, or None. Raises `BadRecord` if its line cannot be read."""
        line = self.line(step, number)
        return None if line is None else parse(line)


def spread(rewards: Sequence[float], most: int) -> list[int]:
    """The indices of at most `most` rewards: the greatest, the least, and others evenly between them, in this order."""
    order = sorted(range(len(rewards)), key=lambda n: rewards[n], reverse=True)
    if len(order) <= most:
        return order
    return [order[round(k * (len(order) - 1) / max(1, most - 1))] for k in range(most)]


def first_replies(data: Mapping[str, Any], most: int = 3) -> list[tuple[str, float]]:
    """The first replies of trajectories of a line of `samples.jsonl`, each with the trajectory's reward: those with the
    greatest and the least reward and others evenly between them, at most `most`. Only trajectories that are kept with
    their tokens count."""
    kept = [trajectory for trajectory in data["trajectories"] if trajectory.get("rows")]
    replies = []
    for n in spread([trajectory["reward"] for trajectory in kept], most):
        row = kept[n]["rows"][0]
        turn = row["turns"][0]
        replies.append(("".join(row["pieces"][turn["start"] : turn["stop"]]), kept[n]["reward"]))
    return replies


def _group(data: dict[str, Any]) -> KeptGroup:
    trajectories = [_trajectory(trajectory) for trajectory in data["trajectories"]]
    if not trajectories:
        raise ValueError("no trajectory")
    return KeptGroup(
        step=_count(data["step"]),
        number=_count(data["group"]),
        game=_text(data["game"]),
        seat=_count(data["seat"]),
        opponent=_text(data["opponent"]),
        version=_text_or_none(data["version"]),
        stage=_count(data["stage"]),
        tied=bool(data["tied"]),
        trajectories=trajectories,
    )


def _trajectory(data: dict[str, Any]) -> KeptTrajectory:
    trajectory = KeptTrajectory(
        match=_text_or_none(data["match"]),
        policy=_count(data["policy"]),
        result=_text(data["result"]),
        end=_text_or_none(data["end"]),
        returned=_number(data["return"]),
        reward=_number(data["reward"]),
        parts={_text(name): _number(value) for name, value in data["parts"].items()},
        readings=[_text(reading) for reading in data["readings"]],
        rewards=_numbers(data["rewards"]),
        advantages=_numbers(data["advantages"]),
        values=_numbers(data["values"]),
        targets=_numbers(data["targets"]),
        rows=[_row(row) for row in data["rows"]] if "rows" in data else None,
    )
    turns = len(trajectory.readings)
    for name in ("rewards", "advantages", "values", "targets"):
        if len(getattr(trajectory, name)) not in ({turns} if name in ("rewards", "advantages") else {0, turns}):
            raise ValueError(f"{name} does not have an entry for each turn")
    if trajectory.rows is not None and sum(len(row.turns) for row in trajectory.rows) != turns:
        raise ValueError("the rows do not hold all turns")
    return trajectory


def _row(data: dict[str, Any]) -> KeptRow:
    row = KeptRow([_count(token) for token in data["ids"]], [_text(piece) for piece in data["pieces"]], [])
    if len(row.ids) != len(row.pieces):
        raise ValueError("there is not a piece of text for each token")
    stop = 0
    for fields in data["turns"]:
        turn = KeptTurn(
            _count(fields["start"]),
            _count(fields["stop"]),
            _numbers(fields["engine"]),
            _numbers(fields["old"]),
            _numbers(fields["reference"]),
            _number(fields["weight"]),
        )
        if not stop <= turn.start <= turn.stop <= len(row.ids):
            raise ValueError("the turns overlap or are out of order")
        stop, tokens = turn.stop, turn.stop - turn.start
        if len(turn.engine) != tokens or not {len(turn.old), len(turn.reference)} <= {0, tokens}:
            raise ValueError("there is not a log-probability for each token")
        row.turns.append(turn)
    return row


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.40} is not a count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is not a number")
    return float(value)


def _numbers(values: Sequence[Any]) -> list[float]:
    return [_number(value) for value in values]
