"""Documentation of each metric of a run, read from `metrics.md` in this folder. That file is also a docs page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gymposium.errors import UnknownName

_PAGE = Path(__file__).parent / "metrics.md"
_ROW = re.compile(r"\| `([^`]+)` \| (.+) \| (.+?) \| ?(.*?) ?\|")
_ANY = re.compile("GAME|OPPONENT|PART")
"""Pattern for each placeholder in names. A game's name may contain any character except a slash."""
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Metric:
    """A documented metric, or the variant of a metric for one opponent or game."""

    name: str
    """The name, with capitalized placeholders: `rollout/win/OPPONENT`."""
    what: str
    unit: str
    section: str
    apart: bool
    """True if this is a variant for one opponent or game."""

    @property
    def pattern(self) -> str:
        """A regular expression for the metric's full names, valid in Python and JavaScript."""
        return "[^/]+".join(re.sub(r"[^\w/]", r"\\\g<0>", part) for part in _ANY.split(self.name))


@cache
def load_metrics() -> tuple[Metric, ...]:
    """Return all documented metrics, in page order."""
    documented, section = [], ""
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif row := _ROW.fullmatch(line):
            name, what, unit, also = row.groups()
            columns = what.replace("`", ""), unit.replace("`", ""), section
            documented.append(Metric(name, *columns, apart=False))
            if "opponent" in also:
                documented.append(Metric(f"{name}/OPPONENT", *columns, apart=True))
            if "game" in also:
                documented.append(Metric(name.replace("rollout/", "rollout/GAME/"), *columns, apart=True))
    return tuple(documented)


@cache
def find_metric(name: str) -> Metric | None:
    """Return the metric with this name, or None if it is undocumented."""
    # exact names first: rollout/reward/kl is a reward part, and rollout/win/random is not a game called win
    known = sorted(load_metrics(), key=lambda metric: len(_ANY.findall(metric.name)))
    return next((metric for metric in known if re.fullmatch(metric.pattern, name)), None)


def check_patterns(option: str, patterns: Sequence[str]) -> None:
    """Raise `UnknownName` for an undocumented name, or a pattern such as `perf/*` that matches no documented prefix."""
    for pattern in patterns:
        start = _WILDCARD.split(pattern)[0]
        if not (
            find_metric(pattern)
            if start == pattern
            else any(_can_start_with(metric.name, start) for metric in load_metrics())
        ):
            raise UnknownName(
                f"metric for {option}", pattern, [metric.name for metric in load_metrics() if not metric.apart]
            )


def _can_start_with(name: str, start: str) -> bool:
    """Return whether a metric name that contains placeholders can begin with this text."""
    literal = _ANY.split(name)[0]
    return literal.startswith(start) or (literal != name and start.startswith(literal))
