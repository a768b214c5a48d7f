"""A run's metrics as curves over steps. The run may still be writing them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import BadRecord
from gymposium.runs.growing import GrowingIndex, GrowingLine

COLD_START, TRAIN, CONTROL = STAGES = ("cold_start", "train", "control")
"""Names of a run's stages in metrics.jsonl."""
MOST = 2_000
"""Maximum number of points per curve. In a longer curve, each point is the mean over several steps."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The metrics of one step in one stage."""

    stage: str
    step: int
    values: dict[str, float]


def parse_curve_point(line: GrowingLine) -> CurvePoint | str:
    """Parse a line of metrics.jsonl, dropping NaN and infinity. Return an error message for an invalid line."""
    try:
        data = json.loads(line.text)
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(data, dict):
        return "no table of metrics"
    stage, step = data.pop("stage", None), data.pop("step", None)
    if not isinstance(stage, str) or type(step) is not int:
        return "no stage or no step"
    numbers = {name: float(value) for name, value in data.items() if isinstance(value, int | float)}
    return CurvePoint(stage, step, {name: value for name, value in numbers.items() if math.isfinite(value)})


@dataclass(frozen=True, slots=True)
class Curve:
    """One stage's metrics as series: a value or None per step."""

    steps: Sequence[int]
    series: Mapping[str, Sequence[float | None]]
    each: int = 1
    """Number of steps per point. A point is placed at its last step."""

    def as_data(self) -> dict[str, Any]:
        """Return the curve as plain data, with values rounded to six digits."""
        series = {
            name: [None if value is None else float(f"{value:.6g}") for value in values]
            for name, values in self.series.items()
        }
        return {"steps": [*self.steps], "series": series, "each": self.each}


@dataclass(slots=True)
class Curves(GrowingIndex):
    """All metrics of a run, by stage and step. If a step is repeated, its last line counts."""

    _entries: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)

    @property
    def offset(self) -> int:
        """Number of bytes read from the file."""
        return self._file.offset

    def _clear(self) -> None:
        self._entries = {}

    def _add(self, line: GrowingLine) -> None:
        entry = parse_curve_point(line)
        if isinstance(entry, str):
            raise BadRecord(entry)
        self._entries.setdefault(entry.stage, {})[entry.step] = entry.values

    def stages(self) -> list[str]:
        """Return the stages that have metrics, in run order."""
        with self._lock:
            return sorted(self._entries, key=[*STAGES, *self._entries].index)

    def entries(self, stage: str = TRAIN) -> dict[int, dict[str, float]]:
        """Return a stage's metrics per step, in step order."""
        with self._lock:
            return dict(sorted(self._entries.get(stage, {}).items()))

    def last(self, stage: str = TRAIN) -> tuple[int, dict[str, float]]:
        """Return the newest step and its metrics, or 0 and no metrics before the first step."""
        entries = self.entries(stage)
        return next(reversed(entries.items())) if entries else (0, {})

    def curve(self, stage: str = TRAIN, most: int = MOST) -> Curve:
        """Return all series of a stage, with at most `most` points each."""
        entries = self.entries(stage)
        names = dict.fromkeys(name for values in entries.values() for name in values)
        each = max(1, math.ceil(len(entries) / most))
        steps = [*entries]
        spans = [steps[first : first + each] for first in range(0, len(steps), each)]
        return Curve(
            [span[-1] for span in spans],
            {name: [_compute_mean([entries[step].get(name) for step in span]) for span in spans] for name in names},
            each,
        )


def _compute_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
