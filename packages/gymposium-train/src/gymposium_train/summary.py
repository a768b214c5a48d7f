"""The figures of a run in the order in which a reader wants them: one place for terminal and report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gymposium_train.config import TrainConfig


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the results: a player against an opponent. Cells are text."""

    player: str
    opponent: str
    matches: str
    win: str
    draw: str
    loss: str
    mean_return: str
    failed: str
    """Replies that were illegal, unparsable or cut off, as a share of all."""


_NAMES = {
    "cold start": "cold start",
    "grpo": "after GRPO",
    "control": "control",
}


def lines(config: TrainConfig, results: dict[str, Any]) -> list[Line]:
    """All rows: before, after, control, then the anchors, then the exact optima."""
    found = []
    evaluations = results.get("evaluations", {})
    order = [*_NAMES, *(name for name in evaluations if name.startswith("anchor "))]
    for name in order:
        for opponent, score in evaluations.get(name, {}).items():
            found.append(_line(_NAMES.get(name, name.removeprefix("anchor ")), opponent, score))
    for kind, optimum in results.get("optima", {}).items():
        found.append(
            Line(
                player=f"exact, {kind}",
                opponent="random",
                matches="all",
                win=f"{optimum['win']:.4f}",
                draw=f"{optimum['draw']:.4f}",
                loss=f"{optimum['loss']:.4f}",
                mean_return=f"{optimum['return']:+.4f}",
                failed="",
            )
        )
    return found


def _line(player: str, opponent: str, score: dict[str, Any]) -> Line:
    def cell(part: str, key: str) -> str:
        estimate = score[part].get(key)  # a game that is played alone has no wins
        return "" if estimate is None else _interval(estimate, "{:.3f}")

    readings = score["counts"]["readings"]
    total = sum(readings.values())
    failed = total - readings.get("move", 0)
    return Line(
        player,
        opponent,
        str(score["matches"]),
        cell("results", "win"),
        cell("results", "draw"),
        cell("results", "loss"),
        _interval(score["return"], "{:+.3f}"),
        f"{failed / total:.4f}" if total else "",
    )


def _interval(estimate: list[float], form: str) -> str:
    value, low, high = (form.format(x) for x in estimate)
    return f"{value} [{low}, {high}]"
