"""The figures of a run in the order in which a reader wants them: one place for terminal and report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gymposium_train.config import TrainConfig

ANCHOR = "anchor "

SPENT = {
    "cold_start_cpu_seconds": "cold start",
    "train_cpu_seconds": "training",
    "control_cpu_seconds": "control",
}
"""What CPU seconds are noted of, by their names in the results."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the results: a player against an opponent in a game. Cells are text."""

    game: str
    player: str
    opponent: str
    matches: str
    win: str
    draw: str
    loss: str
    mean_return: str
    failed: str
    """Replies that were illegal, unparsable or cut off, as a share of all."""


def lines(config: TrainConfig, results: dict[str, Any]) -> list[Line]:
    """All rows, game by game: before, after, control, then the anchors, then the exact optima."""
    evaluations = results.get("evaluations", {})
    games = dict.fromkeys(game for scores in evaluations.values() for game in scores)
    return [line for game in games for line in _of_game(config, game, results)]


def player_name(config: TrainConfig, what: str) -> str:
    """Who stands behind a key of the evaluations, in words."""
    names = {"cold start": "cold start" if config.cold_start.steps else "before", "trained": "after training"}
    return names.get(what, what.removeprefix(ANCHOR))


def spent(results: dict[str, Any]) -> dict[str, float]:
    """CPU seconds by what they were spent on, in words."""
    return {name: results[key] for key, name in SPENT.items() if key in results}


def _of_game(config: TrainConfig, game: str, results: dict[str, Any]) -> Iterator[Line]:
    evaluations = results.get("evaluations", {})
    order = ["cold start", "trained", "control", *(name for name in evaluations if name.startswith(ANCHOR))]
    for what in order:
        for opponent, score in evaluations.get(what, {}).get(game, {}).items():
            yield _line(game, player_name(config, what), opponent, score)
    for kind, optimum in results.get("optima", {}).get(game, {}).items():
        yield Line(
            game=game,
            player=f"exact, {kind}",
            opponent="random",
            matches="all",
            win=f"{optimum['win']:.4f}",
            draw=f"{optimum['draw']:.4f}",
            loss=f"{optimum['loss']:.4f}",
            mean_return=f"{optimum['return']:+.4f}",
            failed="",
        )


def _line(game: str, player: str, opponent: str, score: dict[str, Any]) -> Line:
    def cell(part: str, key: str) -> str:
        estimate = score[part].get(key)  # a game that is played alone has no wins
        return "" if estimate is None else _interval(estimate, "{:.3f}")

    readings = score["counts"]["readings"]
    total = sum(readings.values())
    failed = total - readings.get("move", 0)
    return Line(
        game,
        player,
        opponent,
        str(score["matches"]),
        cell("results", "win"),
        cell("results", "draw"),
        cell("results", "loss"),
        _interval(score["return"], "{:+.3f}"),
        f"{failed / total:.4f}" if total else "",
    )


def _interval(estimate: list[float | None], form: str) -> str:
    value, low, high = ("–" if x is None else form.format(x) for x in estimate)  # too few matches for an interval
    return f"{value} [{low}, {high}]"
