"""How much is measured, and how what was seen is summed up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.training_speed.models import ONE_MILLION, TINY

Times = dict[str, list[float]]

LOGPROB_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of what is measured."""

    repeats: int
    """Times that each side is measured."""
    tiny: bool = False
    """Whether everything is as small as it can be: to see that it runs, not how fast."""

    @property
    def size(self) -> dict[str, Any]:
        """Of the model over characters."""
        return TINY if self.tiny else ONE_MILLION


def spread(values: Sequence[float], digits: int = 3) -> list[float]:
    """Return the median, lowest and highest value."""
    return [round(one, digits) for one in (median(values), min(values), max(values))]


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return the spread of ratios of two sides in the same repeats."""
    return spread([t / o for t, o in zip(theirs, ours, strict=True)], 2)


def shown(three: Sequence[float], form: str = ".2f") -> str:
    """`1.20 (1.10 to 1.31)`."""
    middle, low, high = (format(one, form) for one in three)
    return f"{middle} ({low} to {high})"


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def must_agree(differences: Mapping[str, float], norms: Mapping[str, float]) -> dict[str, Any]:
    """Return what is published of the sides' agreement. Raises `SystemExit` where they do not compute the same."""
    apart = abs(norms["ours"] / norms["bare"] - 1.0)
    if not (all(d <= LOGPROB_TOLERANCE for d in differences.values()) and apart <= GRADIENT_TOLERANCE):
        raise SystemExit(f"The sides do not compute the same: log-probabilities {differences}, gradient norms {norms}.")
    return {"largest_logprob_difference": dict(differences), "gradient_norms": dict(norms), "norms_apart": apart}
