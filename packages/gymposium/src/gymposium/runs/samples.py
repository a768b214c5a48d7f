"""The rollouts that a run kept to be looked at: samples.jsonl, a group of trajectories a line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from gymposium.errors import BadRecord
from gymposium.records import Problem
from gymposium.runs.growing import Growing

FORMAT = "gymposium-samples-1"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """The sampled tokens of one turn in a row, `start` to `stop`, and what is known of each."""

    start: int
    stop: int
    engine: list[float]
    """Log-probabilities as the engine reported them."""
    old: list[float]
    """As the learner did before the update; empty where the engine's stand for it."""
    reference: list[float]
    """Of the reference policy; empty without one."""
    weight: float
    """Of each token in the loss."""


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A stream of tokens. What is in none of its turns was given, and masked."""

    ids: list[int]
    pieces: list[str]
    turns: list[KeptTurn]


@dataclass(frozen=True, slots=True)
class KeptTrajectory:
    """One seat's turns in one match, and what they got and deserved. Lists have an entry for each turn."""

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
    """None where its tokens were not kept."""

    @property
    def failures(self) -> int:
        """Replies that were no legal move."""
        return sum(reading != "move" for reading in self.readings)


@dataclass(frozen=True, slots=True)
class KeptGroup:
    """Trajectories that one baseline ranged over."""

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
        """By reward; of equal ones those with tokens before the others."""
        return sorted(self.trajectories, key=lambda one: (-one.reward, one.rows is None))

    @property
    def spread(self) -> float:
        """The standard deviation of the rewards."""
        rewards = [one.reward for one in self.trajectories]
        mean = math.fsum(rewards) / len(rewards)
        return math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / len(rewards))

    @property
    def mean(self) -> float:
        """The mean reward."""
        return math.fsum(one.reward for one in self.trajectories) / len(self.trajectories)


def parse(line: bytes) -> KeptGroup:
    """Read one line. Raises `BadRecord` with what is wrong with it."""
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
"""How a line of our own writer begins: to find a group, its thousands of tokens need not be read."""


@dataclass(slots=True)
class SamplesIndex:
    """Where each group stands in the file. Of a step that was done again, the last lines count."""

    path: Path
    problems: list[Problem] = field(default_factory=list)
    """Lines that hold no samples."""
    _places: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Where a line begins and ends, by step and group."""
    _file: Growing | None = None
    _lock: Lock = field(default_factory=Lock)

    def refresh(self) -> None:
        """Read what was added since the last time."""
        with self._lock:
            self._file = self._file or Growing(self.path)
            if self._file.renewed():
                self._places, self.problems = {}, []
            for line in self._file.lines():
                try:
                    if (place := _PLACE.match(line.text)) and line.text.rstrip().endswith(b"]}"):
                        key = int(place[1]), int(place[2])
                    else:
                        group = parse(line.text)
                        key = group.step, group.number
                except BadRecord as error:
                    self.problems.append(Problem(f"{self.path.name}:{line.number}", str(error)))
                else:
                    self._places[key] = line.start, line.stop

    def places(self) -> list[tuple[int, int]]:
        """Step and number of every group, in order."""
        with self._lock:
            return sorted(self._places)

    def group(self, step: int, number: int) -> KeptGroup | None:
        """A group with all that was kept of it; None where there is none. Raises `BadRecord`."""
        place = self._places.get((step, number))
        if place is None:
            return None
        with open(self.path, "rb") as file:
            file.seek(place[0])
            return parse(file.read(place[1] - place[0]))


def _group(data: dict[str, Any]) -> KeptGroup:
    trajectories = [_trajectory(one) for one in data["trajectories"]]
    if not trajectories:
        raise ValueError("no trajectory")
    return KeptGroup(
        step=_count(data["step"]),
        number=_count(data["group"]),
        game=_text(data["game"]),
        seat=_count(data["seat"]),
        opponent=_text(data["opponent"]),
        version=_maybe(_text, data["version"]),
        stage=_count(data["stage"]),
        tied=bool(data["tied"]),
        trajectories=trajectories,
    )


def _trajectory(data: dict[str, Any]) -> KeptTrajectory:
    found = KeptTrajectory(
        match=_maybe(_text, data["match"]),
        policy=_count(data["policy"]),
        result=_text(data["result"]),
        end=_maybe(_text, data["end"]),
        returned=_number(data["return"]),
        reward=_number(data["reward"]),
        parts={_text(name): _number(value) for name, value in data["parts"].items()},
        readings=[_text(one) for one in data["readings"]],
        rewards=_numbers(data["rewards"]),
        advantages=_numbers(data["advantages"]),
        values=_numbers(data["values"]),
        targets=_numbers(data["targets"]),
        rows=[_row(row) for row in data["rows"]] if "rows" in data else None,
    )
    turns = len(found.readings)
    for name in ("rewards", "advantages", "values", "targets"):
        if len(getattr(found, name)) not in ({turns} if name in ("rewards", "advantages") else {0, turns}):
            raise ValueError(f"{name} are not one a turn")
    if found.rows is not None and sum(len(row.turns) for row in found.rows) != turns:
        raise ValueError("the rows have not all turns")
    return found


def _row(data: dict[str, Any]) -> KeptRow:
    row = KeptRow([_count(one) for one in data["ids"]], [_text(one) for one in data["pieces"]], [])
    if len(row.ids) != len(row.pieces):
        raise ValueError("not a piece of text for each token")
    at = 0
    for turn in data["turns"]:
        found = KeptTurn(
            _count(turn["start"]),
            _count(turn["stop"]),
            _numbers(turn["engine"]),
            _numbers(turn["old"]),
            _numbers(turn["reference"]),
            _number(turn["weight"]),
        )
        if not at <= found.start <= found.stop <= len(row.ids):
            raise ValueError("turns are not one behind the other")
        at, tokens = found.stop, found.stop - found.start
        if len(found.engine) != tokens or not {len(found.old), len(found.reference)} <= {0, tokens}:
            raise ValueError("not a log-probability for each token")
        row.turns.append(found)
    return row


def _maybe(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.40} is no count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is no number")
    return float(value)


def _numbers(values: Sequence[Any]) -> list[float]:
    return [_number(value) for value in values]
