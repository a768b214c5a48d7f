"""What the pages say of a run: its settings in a line, how far it is, its figures, its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from gymposium.records import Problem
from gymposium.runs.curves import TRAIN
from gymposium.runs.metric_docs import about
from gymposium.runs.results import LearningCurve, ResultRow, learning_curves, lines, spent
from gymposium.viewer.training.library import Opened


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in the list of runs."""

    name: str
    games: str
    what: str
    steps: int
    """Done so far."""
    of: int | None
    """All that are to be done; None where the config cannot be read."""
    state: str
    reward: float | None
    worth: str
    """The newest point of each learning curve, in words."""
    written: str
    """When its metrics were written last, in UTC."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of training, as a table shows it."""

    name: str
    last: float
    low: float
    high: float
    what: str
    unit: str


@dataclass(slots=True)
class RunView:
    """A run on its own page."""

    summary: Summary
    facts: dict[str, str] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    curves: Sequence[LearningCurve] = ()
    lines: Sequence[ResultRow] = ()
    spent: dict[str, float] = field(default_factory=dict)
    config: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def evaluation(opened: Opened) -> list[dict[str, Any]]:
    """The learning curves as plain data; none where nothing was measured or the files are of another kind."""
    found = _measured(opened)
    if isinstance(found, Problem):
        return []
    return [asdict(curve) | {"alone": curve.alone} for curve in found[0]]


def summary(opened: Opened) -> Summary:
    """One line of the list."""
    config = opened.run.config()
    done, last = opened.curves.last()
    settings: dict[str, Any] = {} if isinstance(config, Problem) else config
    games = settings.get("games")
    try:
        written = datetime.fromtimestamp(opened.run.metrics.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M")
    except FileNotFoundError:
        written = ""
    measured = _measured(opened)
    of = settings.get("steps")
    return Summary(
        name=opened.run.name,
        games=", ".join(map(str, games)) if isinstance(games, list) else "",
        what=" ".join(str(_at(settings, path)) for path in ("credit.kind", "objective.kind") if _at(settings, path)),
        steps=done,
        of=of if isinstance(of, int) else None,
        state="finished" if opened.run.finished else "not finished",
        reward=last.get("rollout/reward"),
        worth="" if isinstance(measured, Problem) else "; ".join(_worth(curve, measured[0]) for curve in measured[0]),
        written=written,
    )


def see(opened: Opened) -> RunView:
    """Everything for its own page."""
    seen = RunView(summary(opened), problems=[*opened.curves.problems, *opened.samples.problems])
    config, versions = opened.run.config(), opened.run.versions()
    if isinstance(config, Problem):
        seen.problems.append(config)
    else:
        seen.facts, seen.config = _facts(config), json.dumps(config, indent=2)
    if isinstance(versions, Problem):
        seen.problems.append(versions)
    else:
        seen.versions = {name: str(version) for name, version in versions.items()}
    measured = _measured(opened)
    if isinstance(measured, Problem):
        seen.problems.append(measured)
    else:
        seen.curves, seen.lines, seen.spent = measured
    seen.figures = _figures(opened)
    return seen


def _measured(opened: Opened) -> tuple[list[LearningCurve], list[ResultRow], dict[str, float]] | Problem:
    config, results = opened.run.config(), opened.run.results()
    if isinstance(config, Problem):
        return config
    if isinstance(results, Problem):
        return results
    try:
        curves = learning_curves(config, results, opened.curves.entries())
        return curves, lines(config, results), spent(results)
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
        where = str(opened.run.path / "results.json")
        return Problem(where, f"is not as this version writes it ({type(error).__name__}: {error})")


def _worth(curve: LearningCurve, curves: Sequence[LearningCurve]) -> str:
    value = curve.points[-1].value
    shown = f"{value:,.5g} mean score" if curve.alone else f"{value:.0%} against {curve.opponent}"
    return f"{curve.game}: {shown}" if len(curves) > 1 else shown


def _figures(opened: Opened) -> list[Figure]:
    curve, found = opened.curves.curve(TRAIN), []
    for name, series in curve.series.items():
        values = [value for value in series if value is not None]
        metric = about(name)
        what, unit = (metric.what, metric.unit) if metric else ("", "")
        found.append(Figure(name, values[-1], min(values), max(values), what, unit))
    return found


_FACTS = {
    "model": "model.name",
    "trained": "model.tune",
    "credit": "credit.kind",
    "objective": "objective.kind",
    "reward": "reward",
    "seed": "seed",
}


def _facts(config: dict[str, Any]) -> dict[str, str]:
    """What decides the run most, in a few words each."""
    facts = {name: str(value) for name, path in _FACTS.items() if (value := _at(config, path)) is not None}
    facts.setdefault("model", "a small one, made for this run")
    groups, size, growth = (_at(config, f"rollout.{name}") for name in ("groups", "group_size", "growth"))
    if groups and size:
        growing = f", growing {growth:g} times" if isinstance(growth, float) and growth > 1.0 else ""
        facts["a step"] = f"{groups} groups of {size} matches{growing}"
    if isinstance(stages := config.get("stages"), list):
        facts["opponents"] = ", then ".join(", ".join(map(str, _at(stage, "opponents") or ())) for stage in stages)
    return facts


def _at(config: Any, path: str) -> Any:
    """A setting by its dotted name; None where there is none."""
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return config
