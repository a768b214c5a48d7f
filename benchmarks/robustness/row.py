"""One row of the table of robustness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Wanted = Callable[[str], bool]
"""Whether the row of this attack or accident is still missing."""


@dataclass(frozen=True)
class Row:
    """A kind of attack or accident, how often it was tried and what failed."""

    part: str
    """The part of the benchmark, as its table names it."""
    what: str
    """The attack or accident."""
    tries: int
    """Number of attempts."""
    failures: tuple[str, ...] = ()
    """One description for each failed attempt; empty when every attempt ended as it must."""
