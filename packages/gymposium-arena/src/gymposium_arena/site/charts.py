"""Compute charts of figures with intervals: positions on an axis, which templates draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium_arena.results.model import Interval, Pairing, Standing

_STEPS = (1.0, 2.0, 5.0, 10.0)
_MARGIN = 3.0
"""Margin at both ends in percent of the width, which leaves space for marks."""


_LINE = 7.0
"""Height of a text line in a plot, in percent of the plot's height."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A labeled grid line."""

    at: str
    """Position in percent of the width."""
    text: str
    main: bool
    """True for the reference value."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure with its interval. Positions are as in `Tick`."""

    left: str
    right: str
    at: str | None
    """The figure's position; None if only one end of the interval is known."""
    open: Literal["left", "right"] | None = None
    """The unknown end."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars by name on one axis."""

    ticks: Sequence[Tick]
    bars: Mapping[str, Bar]


def make_ratings_chart(rows: Mapping[str, Standing]) -> Chart:
    """Chart ratings. Players without a rating have no bar."""
    known = {name: row for name, row in rows.items() if row.bound is not None and row.rating is not None}
    ends = [
        end for row in known.values() for end in (row.low, row.high, row.rating if row.bound == "interval" else None)
    ]
    axis = _Axis.from_values([0.0, *ends])
    return Chart(axis.make_ticks(), {name: _make_rating_bar(axis, row) for name, row in known.items()})


def make_means_chart(means: Mapping[str, Interval | None]) -> Chart:
    """Chart mean returns. Players without a mean return have no bar."""
    known = {name: one for name, one in means.items() if one is not None}
    axis = _Axis.from_values([end for one in known.values() for end in (one.low, one.high, one.value)] or [0.0])
    return Chart(axis.make_ticks(), {name: axis.make_bar(one.low, one.value, one.high) for name, one in known.items()})


def make_shares_chart(rows: Mapping[str, Pairing]) -> Chart:
    """Chart shares of points in percent."""
    ticks = [(0.0, "0"), (0.25, ""), (0.5, "50"), (0.75, ""), (1.0, "100%")]
    axis = _Axis(0.0, 1.0)
    bars = {name: axis.make_bar(one.low, one.share, one.high) for name, one in rows.items()}
    return Chart([Tick(axis.at(value), text, value == 0.5) for value, text in ticks], bars)


@dataclass(frozen=True, slots=True)
class CostPoint:
    """A player's mark in a plot of strength against cost, in percent of width and height."""

    player: str
    x: str
    y: str
    name: Literal["right", "above", "left"]
    """The side of the mark for the player's name."""


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line for a player without cost."""

    player: str
    y: str
    named: bool
    """False if a nearby line leaves no space for the name."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of strength (upward) against written tokens per reply (to the right, logarithmic)."""

    across: Sequence[Tick]
    up: Sequence[Tick]
    points: Sequence[CostPoint]
    levels: Sequence[Level]
    """Players that write no tokens."""


def make_cost_plot(strengths: Mapping[str, float], tokens: Mapping[str, float]) -> Plot:
    """Plot strengths against cost. `tokens` holds the tokens per reply of players that write tokens."""
    up = _Axis.from_values([*strengths.values()])
    powers = [math.log10(tokens[player]) for player in strengths if player in tokens]
    across = _Axis(math.floor(min(powers)), max(math.ceil(max(powers)), math.floor(min(powers)) + 1))
    decades = range(int(across.low), int(across.high) + 1)
    points = []
    for player, strength in strengths.items():
        if player in tokens:
            x = across.at(math.log10(tokens[player]))
            side: Literal["right", "above", "left"] = "right" if float(x) < 30 else "left" if float(x) > 70 else "above"
            points.append(CostPoint(player, x, _invert_height(up.at(strength)), side))
    levels, before = list[Level](), -_LINE
    for player, strength in sorted(strengths.items(), key=lambda one: -one[1]):
        if player not in tokens:
            y = _invert_height(up.at(strength))
            levels.append(Level(player, y, named=float(y) - before >= _LINE))
            before = float(y) if levels[-1].named else before
    return Plot(
        [Tick(across.at(power), f"{10.0**power:g}", main=False) for power in decades],
        [Tick(_invert_height(tick.at), tick.text, tick.main) for tick in up.make_ticks()],
        points,
        levels,
    )


def _invert_height(at: str) -> str:
    """Convert a height to the distance from the top, as in SVG."""
    return f"{100.0 - float(at):.2f}"


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float

    @classmethod
    def from_values(cls, values: Sequence[float | None]) -> _Axis:
        """Make an axis that covers these values; None is skipped."""
        known = [value for value in values if value is not None]
        low, high = min(known), max(known)
        return cls(low, high) if high - low >= 1e-9 else cls(low - 1.0, high + 1.0)

    def at(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low)
        return f"{_MARGIN + share * (100.0 - 2 * _MARGIN):.2f}"

    def make_ticks(self) -> list[Tick]:
        """Return ticks at round values; 0 is the main one."""
        wanted = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(step * power for step in _STEPS if step * power >= wanted - 1e-12)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        return [Tick(self.at(value), f"{value:g}", value == 0.0) for value in values]

    def make_bar(self, low: float | None, value: float, high: float | None) -> Bar:
        """Return a figure's bar; missing ends of its interval coincide with it."""
        left, right = (self.at(value if end is None else end) for end in (low, high))
        return Bar(left, right, self.at(value))


def _make_rating_bar(axis: _Axis, row: Standing) -> Bar:
    if row.bound == "at least" and row.low is not None:
        return Bar(axis.at(row.low), "100", None, "right")
    if row.bound == "at most" and row.high is not None:
        return Bar("0", axis.at(row.high), None, "left")
    return axis.make_bar(row.low, row.rating or 0.0, row.high)
