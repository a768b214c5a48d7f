"""The metrics of a run as curves over steps, also while the run is still writing them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from gymposium.records import Problem
from gymposium.runs.growing import Growing, GrowingLine

STAGES = ("cold_start", "train", "control")
TRAIN = "train"
MOST = 2_000
"""Points of a curve, at most; each point of a longer curve is the mean over several steps."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The metrics of one step of one stage."""

    stage: str
    step: int
    values: dict[str, float]


def entry_of(line: GrowingLine) -> CurvePoint | str:
    """The metrics in a line of metrics.jsonl, without NaN and infinity, or what is wrong with the line."""
    try:
        data = json.loads(line.text)
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(data, dict):
        return "no table of metrics"
    stage, step = data.pop("stage", None), data.pop("step", None)
    if not isinstance(stage, str) or type(step) is not int:
        return "no stage or no step"
    return CurvePoint(stage, step, {name: float(value) for name, value in data.items() if _is_figure(value)})


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Curve:
    """The metrics of one stage: every series has a value for each of the steps, None if it has none there."""

    steps: Sequence[int]
    series: Mapping[str, Sequence[float | None]]
    each: int = 1
    """Steps per point; a point stands at its last step."""

    def as_data(self) -> dict[str, Any]:
        """The curve as plain data, each value rounded to six digits."""
        series = {name: [*map(_six_digits, found)] for name, found in self.series.items()}
        return {"steps": [*self.steps], "series": series, "each": self.each}


@dataclass(slots=True)
class Curves:
    """All metrics of a run, by stage and step. The last line of a step that was repeated counts."""

    path: Path
    problems: list[Problem] = field(default_factory=list)
    """Lines that hold no metrics."""
    _entries: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    _file: Growing | None = None
    _lock: Lock = field(default_factory=Lock)

    @property
    def offset(self) -> int:
        """Bytes of the file that were read."""
        return self._file.offset if self._file else 0

    def refresh(self) -> None:
        """Read what was added since the last call."""
        with self._lock:
            self._file = self._file or Growing(self.path)
            if self._file.renewed():
                self._entries, self.problems = {}, []
            for line in self._file.lines():
                entry = entry_of(line)
                if isinstance(entry, str):
                    self.problems.append(Problem(f"{self.path.name}:{line.number}", entry))
                else:
                    self._entries.setdefault(entry.stage, {})[entry.step] = entry.values

    def stages(self) -> list[str]:
        """The stages that have metrics, in the order of a run."""
        with self._lock:
            known = [stage for stage in STAGES if stage in self._entries]
            return known + [stage for stage in self._entries if stage not in STAGES]

    def entries(self, stage: str = TRAIN) -> dict[int, dict[str, float]]:
        """The metrics of each step of a stage, in order of steps."""
        with self._lock:
            return dict(sorted(self._entries.get(stage, {}).items()))

    def last(self, stage: str = TRAIN) -> tuple[int, dict[str, float]]:
        """The newest step and its metrics; step 0 without metrics before the first one."""
        entries = self.entries(stage)
        return next(reversed(entries.items())) if entries else (0, {})

    def curve(self, stage: str = TRAIN, most: int = MOST) -> Curve:
        """All series of a stage, with at most `most` points each."""
        entries = self.entries(stage)
        names = dict.fromkeys(name for values in entries.values() for name in values)
        each = max(1, math.ceil(len(entries) / most))
        lots = [*_lots([*entries], each)]
        return Curve(
            [lot[-1] for lot in lots],
            {name: [_mean([entries[step].get(name) for step in lot]) for lot in lots] for name in names},
            each,
        )


def _six_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _lots(steps: Sequence[int], each: int) -> Iterator[Sequence[int]]:
    for first in range(0, len(steps), each):
        yield steps[first : first + each]


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are not None."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None
