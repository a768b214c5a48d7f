"""Charts of figures with their intervals: positions of marks on an axis, for templates to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium_arena.results.model import Interval, Pairing, Standing

_STEPS = (1.0, 2.0, 5.0, 10.0)
_MARGIN = 3.0
"""Margin at both ends in percent of the width, since marks are wider than a point."""


_LINE = 7.0
"""Height of a text line in a plot, in percent of the plot's height."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line."""

    at: str
    """The position in percent of the width, as text."""
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
    """The unknown end."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars by name on one axis."""

    ticks: Sequence[Tick]
    bars: Mapping[str, Bar]


def ratings_chart(rows: Mapping[str, Standing]) -> Chart:
    """Return the chart of ratings. Players without a rating have no bar."""
    known = {name: row for name, row in rows.items() if row.bound is not None and row.rating is not None}
    ends = [
        end for row in known.values() for end in (row.low, row.high, row.rating if row.bound == "interval" else None)
    ]
    axis = _Axis.around([0.0, *ends])
    return Chart(axis.ticks(), {name: _rating_bar(axis, row) for name, row in known.items()})


def means_chart(means: Mapping[str, Interval | None]) -> Chart:
    """Return the chart of mean returns. Players without one have no bar."""
    known = {name: one for name, one in means.items() if one is not None}
    axis = _Axis.around([end for one in known.values() for end in (one.low, one.high, one.value)] or [0.0])
    return Chart(axis.ticks(), {name: axis.bar(one.low, one.value, one.high) for name, one in known.items()})


def shares_chart(rows: Mapping[str, Pairing]) -> Chart:
    """Return the chart of shares of points, in percent."""
    ticks = [(0.0, "0"), (0.25, ""), (0.5, "50"), (0.75, ""), (1.0, "100 %")]
    axis = _Axis(0.0, 1.0)
    bars = {name: axis.bar(one.low, one.share, one.high) for name, one in rows.items()}
    return Chart([Tick(axis.at(value), text, value == 0.5) for value, text in ticks], bars)


@dataclass(frozen=True, slots=True)
class CostPoint:
    """A player's mark in a plot of strength against cost; positions in percent of the width and the height."""

    player: str
    x: str
    y: str
    name: Literal["right", "above", "left"]
    """The side of the mark that has space for the player's name."""


@dataclass(frozen=True, slots=True)
class Level:
    """The line of a player without a place on the cost axis."""

    player: str
    y: str
    named: bool
    """False if a nearby line leaves no space for its name."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Strength, upwards, against tokens written per reply, to the right on a logarithmic axis."""

    across: Sequence[Tick]
    up: Sequence[Tick]
    points: Sequence[CostPoint]
    levels: Sequence[Level]
    """The lines of players that write no tokens."""


def cost_plot(strengths: Mapping[str, float], tokens: Mapping[str, float]) -> Plot:
    """Return the plot of players with these strengths. `tokens` holds tokens per reply for players that write any."""
    up = _Axis.around([*strengths.values()])
    powers = [math.log10(tokens[player]) for player in strengths if player in tokens]
    across = _Axis(math.floor(min(powers)), max(math.ceil(max(powers)), math.floor(min(powers)) + 1))
    decades = range(int(across.low), int(across.high) + 1)
    points = []
    for player, strength in strengths.items():
        if player in tokens:
            x = across.at(math.log10(tokens[player]))
            side: Literal["right", "above", "left"] = "right" if float(x) < 30 else "left" if float(x) > 70 else "above"
            points.append(CostPoint(player, x, _down(up.at(strength)), side))
    levels, before = list[Level](), -_LINE
    for player, strength in sorted(strengths.items(), key=lambda one: -one[1]):
        if player not in tokens:
            y = _down(up.at(strength))
            levels.append(Level(player, y, named=float(y) - before >= _LINE))
            before = float(y) if levels[-1].named else before
    return Plot(
        [Tick(across.at(power), f"{10.0**power:g}", main=False) for power in decades],
        [Tick(_down(tick.at), tick.text, tick.main) for tick in up.ticks()],
        points,
        levels,
    )


def _down(at: str) -> str:
    """Return a height as the distance from the top, as SVG counts."""
    return f"{100.0 - float(at):.2f}"


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float | None]) -> _Axis:
        """Return an axis that covers all of these values; None is skipped."""
        known = [value for value in values if value is not None]
        low, high = min(known), max(known)
        return cls(low, high) if high - low >= 1e-9 else cls(low - 1.0, high + 1.0)

    def at(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low)
        return f"{_MARGIN + share * (100.0 - 2 * _MARGIN):.2f}"

    def ticks(self) -> list[Tick]:
        """Return ticks at round values, with the one at 0 marked."""
        wanted = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(step * power for step in _STEPS if step * power >= wanted - 1e-12)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        return [Tick(self.at(value), f"{value:g}", value == 0.0) for value in values]

    def bar(self, low: float | None, value: float, high: float | None) -> Bar:
        """Return the bar of a figure; a missing end of its interval is placed at the figure."""
        left, right = (self.at(value if end is None else end) for end in (low, high))
        return Bar(left, right, self.at(value))


def _rating_bar(axis: _Axis, row: Standing) -> Bar:
    if row.bound == "at least" and row.low is not None:
        return Bar(axis.at(row.low), "100", None, "right")
    if row.bound == "at most" and row.high is not None:
        return Bar("0", axis.at(row.high), None, "left")
    return axis.bar(row.low, row.rating or 0.0, row.high)
