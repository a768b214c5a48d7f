"""Where figures and their intervals stand on an axis: numbers for drawings that templates make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium.arena.results.model import Interval, Mean, Pairing, Standing

_STEPS = (1.0, 2.0, 5.0, 10.0)
_MARGIN = 3.0
"""Per cent that stay free at both ends, for marks are wider than a point."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid. Places are per cent of the width, as text."""

    at: str
    text: str
    main: bool
    """Whether it is what all else is measured from."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure with its interval."""

    left: str
    right: str
    at: str | None
    """The figure; None where only one end is known."""
    open: Literal["left", "right"] | None = None
    """The end that is not known."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Figures on one axis, by name."""

    ticks: Sequence[Tick]
    bars: Mapping[str, Bar]


def ratings_chart(rows: Mapping[str, Standing]) -> Chart:
    """Ratings; those that are not known have no bar."""
    known = {name: row for name, row in rows.items() if row.bound is not None and row.rating is not None}
    ends = [end for row in known.values() for end in (row.low, row.high, _dot(row)) if end is not None]
    axis = _axis([*ends, 0.0], main=0.0)
    return Chart(axis.ticks, {name: _rating_bar(axis, row) for name, row in known.items()})


def means_chart(rows: Sequence[Mean]) -> Chart:
    """Mean returns."""
    known = {row.player: row.returned for row in rows if row.returned is not None}
    ends = [end for one in known.values() for end in (one.low, one.high, one.value) if end is not None]
    axis = _axis(ends or [0.0], main=0.0)
    return Chart(axis.ticks, {name: _interval_bar(axis, one) for name, one in known.items()})


def shares_chart(rows: Mapping[str, Pairing]) -> Chart:
    """Shares of points, in per cent."""
    ticks = [(0.0, "0"), (0.25, ""), (0.5, "50"), (0.75, ""), (1.0, "100 %")]
    axis = _Axis(0.0, 1.0, [])
    made = [Tick(axis.at(value), text, value == 0.5) for value, text in ticks]
    bars = {name: Bar(axis.at(one.low), axis.at(one.high), axis.at(one.share)) for name, one in rows.items()}
    return Chart(made, bars)


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    ticks: list[Tick]

    def at(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low)
        return f"{_MARGIN + share * (100.0 - 2 * _MARGIN):.2f}"


def _axis(values: Sequence[float], main: float) -> _Axis:
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 1.0, high + 1.0
    axis = _Axis(low, high, [])
    step = _step((high - low) / 5)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    for number in range(first, last + 1):
        value = number * step
        axis.ticks.append(Tick(axis.at(value), f"{value:g}", value == main))
    return axis


def _step(about: float) -> float:
    """A round number that is at least so large."""
    power = 10.0 ** math.floor(math.log10(about))
    return next(step * power for step in _STEPS if step * power >= about - 1e-12)


def _dot(row: Standing) -> float | None:
    return row.rating if row.bound == "interval" else None


def _rating_bar(axis: _Axis, row: Standing) -> Bar:
    if row.bound == "at least" and row.low is not None:
        return Bar(axis.at(row.low), "100", None, "right")
    if row.bound == "at most" and row.high is not None:
        return Bar("0", axis.at(row.high), None, "left")
    rating = row.rating or 0.0
    low, high = (rating if end is None else end for end in (row.low, row.high))
    return Bar(axis.at(low), axis.at(high), axis.at(rating))


def _interval_bar(axis: _Axis, one: Interval) -> Bar:
    low, high = (one.value if end is None else end for end in (one.low, one.high))
    return Bar(axis.at(low), axis.at(high), axis.at(one.value))
