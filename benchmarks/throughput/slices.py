"""Sides that take turns, slice by slice, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from statistics import median

from benchmarks.throughput.timing import Play, rate

Side = Callable[[float], float]
"""Works for about this many seconds; returns its decisions per second."""


def here(play: Play) -> Side:
    """Return a side that plays whole matches in this process."""
    return partial(rate, play, count())


def take_turns(sides: Mapping[str, Side], repeats: int, seconds: float) -> dict[str, list[float]]:
    """Return the rates of each side over `repeats` slices. A first slice, which fills caches, is not counted."""
    for side in sides.values():
        side(seconds / 4)
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for repeat in range(repeats):
        for name in sides if repeat % 2 else reversed([*sides]):
            rates[name].append(sides[name](seconds))
    return rates


def compare(rates: Mapping[str, list[float]], one: str, other: str) -> dict[str, object]:
    """Return how many times as fast `one` is as `other`: the median over the slices, and the range."""
    ratios = [a / b for a, b in zip(rates[one], rates[other], strict=True)]
    return {"ratio": round(median(ratios), 3), "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)]}


def medians(rates: Mapping[str, list[float]]) -> dict[str, int]:
    """Return each side's rate."""
    return {name: round(median(found)) for name, found in rates.items()}
