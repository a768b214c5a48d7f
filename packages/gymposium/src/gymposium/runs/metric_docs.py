"""The documentation of each metric of a run, read from `metrics.md` beside this file, which is also its page."""

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
"""Placeholders in names. The name of a game may hold any character but a slash."""
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the page, or its variant for one opponent or one game."""

    name: str
    """The name, with words in capitals for the parts that vary: `rollout/win/OPPONENT`."""
    what: str
    unit: str
    section: str
    apart: bool
    """True for the variant of one opponent or one game."""

    @property
    def pattern(self) -> str:
        """A regular expression for full names of the metric, in the syntax that Python and JavaScript share."""
        return "[^/]+".join(re.sub(r"[^\w/]", r"\\\g<0>", part) for part in _ANY.split(self.name))


@cache
def metrics() -> tuple[Metric, ...]:
    """All documented metrics, in the order of the page."""
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
def about(name: str) -> Metric | None:
    """The metric with this name, or None if it is not documented."""
    # exact names first: rollout/reward/kl is a part of the reward, and rollout/win/random is no game called win
    known = sorted(metrics(), key=lambda metric: len(_ANY.findall(metric.name)))
    return next((metric for metric in known if re.fullmatch(metric.pattern, name)), None)


def check_patterns(option: str, patterns: Sequence[str]) -> None:
    """Raise `UnknownName` for a name that is not documented, or a pattern such as `perf/*` that no documented name
    begins like."""
    for pattern in patterns:
        start = _WILDCARD.split(pattern)[0]
        if not (about(pattern) if start == pattern else any(_can_begin(metric.name, start) for metric in metrics())):
            raise UnknownName(
                f"metric for {option}", pattern, [metric.name for metric in metrics() if not metric.apart]
            )


def _can_begin(name: str, start: str) -> bool:
    """Whether a name with placeholders can begin with this text."""
    literal = _ANY.split(name)[0]
    return literal.startswith(start) or (literal != name and start.startswith(literal))
