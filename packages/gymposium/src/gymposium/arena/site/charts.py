"""Charts of figures with their intervals: the positions of marks on an axis, for templates to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium.arena.results.model import Mean, Pairing, Standing

_STEPS = (1.0, 2.0, 5.0, 10.0)
_MARGIN = 3.0
"""Margin at both ends in per cent of the width, since marks are wider than a point."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid."""

    at: str
    """The position in per cent of the width, as text."""
    text: str
    main: bool
    """True for the value that all figures are measured from."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure with its interval; positions are as in `Tick`."""

    left: str
    right: str
    at: str | None
    """The position of the figure; None if only one end is known."""
    open: Literal["left", "right"] | None = None
    """The end that is unknown."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars by name on one axis."""

    ticks: Sequence[Tick]
    bars: Mapping[str, Bar]


def ratings_chart(rows: Mapping[str, Standing]) -> Chart:
    """The chart of ratings. Players without a rating have no bar."""
    known = {name: row for name, row in rows.items() if row.bound is not None and row.rating is not None}
    ends = [
        end for row in known.values() for end in (row.low, row.high, row.rating if row.bound == "interval" else None)
    ]
    axis = _Axis.around([0.0, *ends])
    return Chart(axis.ticks(), {name: _rating_bar(axis, row) for name, row in known.items()})


def means_chart(rows: Sequence[Mean]) -> Chart:
    """The chart of mean returns."""
    known = {row.player: row.returned for row in rows if row.returned is not None}
    axis = _Axis.around([end for one in known.values() for end in (one.low, one.high, one.value)] or [0.0])
    return Chart(axis.ticks(), {name: axis.bar(one.low, one.value, one.high) for name, one in known.items()})


def shares_chart(rows: Mapping[str, Pairing]) -> Chart:
    """The chart of shares of points, in per cent."""
    ticks = [(0.0, "0"), (0.25, ""), (0.5, "50"), (0.75, ""), (1.0, "100 %")]
    axis = _Axis(0.0, 1.0)
    bars = {name: axis.bar(one.low, one.share, one.high) for name, one in rows.items()}
    return Chart([Tick(axis.at(value), text, value == 0.5) for value, text in ticks], bars)


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float | None]) -> _Axis:
        """An axis that holds all of these values; None is skipped."""
        known = [value for value in values if value is not None]
        low, high = min(known), max(known)
        return cls(low, high) if high - low >= 1e-9 else cls(low - 1.0, high + 1.0)

    def at(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low)
        return f"{_MARGIN + share * (100.0 - 2 * _MARGIN):.2f}"

    def ticks(self) -> list[Tick]:
        """Ticks at round values, the one at 0 marked."""
        wanted = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(step * power for step in _STEPS if step * power >= wanted - 1e-12)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        return [Tick(self.at(value), f"{value:g}", value == 0.0) for value in values]

    def bar(self, low: float | None, value: float, high: float | None) -> Bar:
        """The bar of a figure; an end of its interval that does not exist is at the figure."""
        left, right = (self.at(value if end is None else end) for end in (low, high))
        return Bar(left, right, self.at(value))


def _rating_bar(axis: _Axis, row: Standing) -> Bar:
    if row.bound == "at least" and row.low is not None:
        return Bar(axis.at(row.low), "100", None, "right")
    if row.bound == "at most" and row.high is not None:
        return Bar("0", axis.at(row.high), None, "left")
    return axis.bar(row.low, row.rating or 0.0, row.high)
