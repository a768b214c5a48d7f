"""The metrics of a run as curves, step by step, while the run goes on or long after."""

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
"""Points of a curve; of a longer one, each point is the mean over some steps."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One step of one stage."""

    stage: str
    step: int
    values: dict[str, float]


def entry_of(line: GrowingLine) -> CurvePoint | str:
    """A line of metrics.jsonl, or what is wrong with it. Figures that do not exist in the step are left out."""
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
    """The figures of one stage: every series has an entry for each of the steps, None where it has no value."""

    steps: Sequence[int]
    series: Mapping[str, Sequence[float | None]]
    each: int = 1
    """So many steps are in a point; the last of them is the point's."""

    def as_data(self) -> dict[str, Any]:
        """As plain data, with six digits of each figure."""
        series = {name: [*map(_six_digits, found)] for name, found in self.series.items()}
        return {"steps": [*self.steps], "series": series, "each": self.each}


@dataclass(slots=True)
class Curves:
    """All figures of a run, by stage and step. Of a step that was done again, the last line counts."""

    path: Path
    problems: list[Problem] = field(default_factory=list)
    """Lines that hold no metrics."""
    _entries: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    _file: Growing | None = None
    _lock: Lock = field(default_factory=Lock)

    @property
    def offset(self) -> int:
        """So much of the file is in the curves."""
        return self._file.offset if self._file else 0

    def refresh(self) -> None:
        """Read what was added since the last time."""
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
        """Those that there are, in the order of a run."""
        with self._lock:
            known = [stage for stage in STAGES if stage in self._entries]
            return known + [stage for stage in self._entries if stage not in STAGES]

    def entries(self, stage: str = TRAIN) -> dict[int, dict[str, float]]:
        """The figures of each step of a stage, in order."""
        with self._lock:
            return dict(sorted(self._entries.get(stage, {}).items()))

    def last(self, stage: str = TRAIN) -> tuple[int, dict[str, float]]:
        """The newest step and its figures; 0 and none before the first."""
        entries = self.entries(stage)
        return next(reversed(entries.items())) if entries else (0, {})

    def curve(self, stage: str = TRAIN, most: int = MOST) -> Curve:
        """All series of a stage, of `most` points or fewer."""
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
    """Over those that there are."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None
