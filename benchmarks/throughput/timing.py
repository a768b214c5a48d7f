"""One slice of a side's CPU time. Nothing but the standard library: other libraries' processes run this too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

Play = Callable[[int], int]
"""Plays one match, from a seed; returns how many decisions its seats made."""

_AT_ONCE = 8
"""Matches between two looks at the clock, which costs as much as a decision of the fastest side."""


def rate(play: Play, seeds: Iterator[int], seconds: float) -> float:
    """Play whole matches for about this many CPU seconds. Returns decisions per CPU second."""
    decisions, start = 0, time.process_time()
    while True:
        for _ in range(_AT_ONCE):
            decisions += play(next(seeds))
        spent = time.process_time() - start
        if spent >= seconds:
            return decisions / spent
