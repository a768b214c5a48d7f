"""What each metric of a run is, in the words of its documentation: `metrics.md` beside this file is the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parent / "metrics.md"
_ROW = re.compile(r"\| `([^`]+)` \| (.+) \| (.+?) \| ?(.*?) ?\|")
_ANY = re.compile("GAME|OPPONENT|PART")
"""Words that stand for what varies. A game's name may hold anything but a slash."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One name of the page, or one of those under which its figure stands as well."""

    name: str
    """With words in capitals for what varies: `rollout/win/OPPONENT`."""
    what: str
    unit: str
    section: str
    apart: bool
    """Whether it is a figure of one opponent or one game, which stands beside that of all."""

    @property
    def pattern(self) -> str:
        """A regular expression of the names that it is of, the whole of each; in JavaScript it means the same."""
        parts = _ANY.split(self.name)
        return "[^/]+".join(re.sub(r"[^\w/]", r"\\\g<0>", part) for part in parts)


@cache
def metrics() -> tuple[Metric, ...]:
    """All that is documented, in the order of the page."""
    found, section = [], ""
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif row := _ROW.fullmatch(line):
            name, what, unit, also = row.groups()
            found.append(Metric(name, _plain(what), _plain(unit), section, apart=False))
            if "opponent" in also:
                found.append(Metric(f"{name}/OPPONENT", _plain(what), _plain(unit), section, apart=True))
            if "game" in also:
                in_game = name.replace("rollout/", "rollout/GAME/")
                found.append(Metric(in_game, _plain(what), _plain(unit), section, apart=True))
    return tuple(found)


@cache
def about(name: str) -> Metric | None:
    """The metric of this name; None where the page does not know it."""
    # exact names first: rollout/reward/kl is a part of the reward, and rollout/win/random is no game called win
    known = sorted(metrics(), key=lambda metric: len(_ANY.findall(metric.name)))
    return next((metric for metric in known if re.fullmatch(metric.pattern, name)), None)


def _plain(text: str) -> str:
    """Without the marks of Markdown."""
    return text.replace("`", "")
