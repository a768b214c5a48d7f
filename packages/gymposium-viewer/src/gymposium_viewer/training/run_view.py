"""The data of a training run's page and of its row in the list: settings, progress, metrics, results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from gymposium.records import Problem
from gymposium.runs.curves import TRAIN, Curves
from gymposium.runs.metric_docs import find_metric
from gymposium.runs.results import (
    LearningCurve,
    ResultRow,
    build_agreement_curve,
    build_learning_curves,
    build_loss_curves,
    build_rows,
    judge_run,
    sum_stage_seconds,
)
from gymposium.runs.samples import pick_first_replies
from gymposium.util.strict_json import is_number
from gymposium.util.visible import quantity
from gymposium_viewer.training.library import OpenRun

FINISHED = "finished"
"""The state of a run that has written its report."""
RUNNING = "running"
"""The state of a run that a process is working on."""
STOPPED = "not finished"
"""The state of a run that was interrupted or ended with an error."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run's row in the list of runs."""

    name: str
    games: str
    method: str
    """The kinds of credit and objective that the run uses."""
    steps: int
    """Number of finished steps."""
    total_steps: int | None
    """Total number of steps; None if the config cannot be read."""
    state: str
    reward: float | None
    """Mean reward in the last step; None without steps."""
    newest_points: str
    """Description of each learning curve's newest point."""
    last_write: str
    """Time of the last write to the metrics file, in UTC; empty before the first."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A row in the table of training metrics."""

    name: str
    last: float
    low: float
    high: float
    what: str
    unit: str


@dataclass(frozen=True, slots=True)
class RunView:
    """The data of a run's page."""

    summary: RunSummary
    facts: dict[str, str]
    """The main settings, by title."""
    figures: Sequence[MetricRow]
    curves: Sequence[LearningCurve]
    """The learning curves, then the curves beside them."""
    lines: Sequence[ResultRow]
    verdict: str
    """What reinforcement learning achieved, in one or two sentences; empty if it was not measured."""
    spent: dict[str, float]
    """CPU time in seconds, by purpose."""
    unjudged: Sequence[str]
    """Why moves in some games are not judged."""
    replies: dict[int, list[tuple[str, float]]]
    """For each kept step, first replies from its first group, with their trajectories' rewards."""
    config: str
    """The settings as JSON; empty if they cannot be read."""
    versions: dict[str, str]
    problems: Sequence[Problem]
    """Files and lines that could not be read."""


def dump_learning_curves(opened: OpenRun) -> list[dict[str, Any]]:
    """Return the learning curves and those beside them as plain data; [] if nothing was measured or the files cannot be
    read."""
    measured = _read_results(opened)
    return [] if isinstance(measured, Problem) else [asdict(curve) for curve in measured.all_curves]


def summarize_run(opened: OpenRun) -> RunSummary:
    """Return a run's row in the list of runs."""
    config = opened.run.config()
    done, last = opened.curves.last()
    settings: dict[str, Any] = {} if isinstance(config, Problem) else config
    games, steps = settings.get("games"), settings.get("steps")
    try:
        written = datetime.fromtimestamp(opened.run.metrics.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M")
    except OSError:
        written = ""
    measured = _read_results(opened)
    return RunSummary(
        name=opened.run.name,
        games=", ".join(map(str, games)) if isinstance(games, list | dict) else "",
        method=" ".join(
            str(_get_setting(settings, path))
            for path in ("credit.kind", "objective.kind")
            if _get_setting(settings, path)
        ),
        steps=done,
        total_steps=steps if isinstance(steps, int) else None,
        state=FINISHED if opened.run.finished else RUNNING if opened.run.running else STOPPED,
        reward=last.get("rollout/reward"),
        newest_points=""
        if isinstance(measured, Problem)
        else "; ".join(_format_newest_point(curve, measured.curves) for curve in measured.curves),
        last_write=written,
    )


def view_run(opened: OpenRun) -> RunView:
    """Return the data of a run's page."""
    config, versions, measured = opened.run.config(), opened.run.versions(), _read_results(opened)
    readable = _Measured() if isinstance(measured, Problem) else measured
    facts: dict[str, str] | Problem = {}
    if not isinstance(config, Problem):
        facts = _derive(opened, "config.json", lambda: _describe_settings(config, opened.run.results()))
    unread = [part for part in (versions, measured, facts) if isinstance(part, Problem)]
    return RunView(
        summarize_run(opened),
        facts={} if isinstance(facts, Problem) else facts,
        figures=_summarize_metrics(opened),
        curves=readable.all_curves,
        lines=readable.rows,
        verdict=_read_verdict(opened),
        spent=readable.seconds,
        unjudged=readable.unjudged,
        replies=_sample_replies(opened),
        config="" if isinstance(config, Problem) else json.dumps(config, indent=2),
        versions={} if isinstance(versions, Problem) else {name: str(version) for name, version in versions.items()},
        problems=[*opened.curves.problems, *opened.samples.problems, *unread],
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a run has measured so far."""

    curves: Sequence[LearningCurve] = ()
    beside: Sequence[LearningCurve] = ()
    """The return lost per move in each game, and the agreement with the teacher."""
    rows: Sequence[ResultRow] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    unjudged: Sequence[str] = ()

    @property
    def all_curves(self) -> list[LearningCurve]:
        return [*self.curves, *self.beside]


def _read_results(opened: OpenRun) -> _Measured | Problem:
    """Return what a run has measured, or a problem if a file is unreadable."""
    config, results = opened.run.config(), opened.run.results()
    if isinstance(config, Problem):
        return config
    if isinstance(results, Problem):
        return results
    return _derive(
        opened,
        "results.json",
        lambda: _measure(config, results, opened.curves),
    )


def _measure(config: dict[str, Any], results: dict[str, Any], metrics: Curves) -> _Measured:
    agreement = build_agreement_curve(config, metrics)
    return _Measured(
        build_learning_curves(config, results, metrics),
        [*build_loss_curves(config, results, metrics), *([] if agreement is None else [agreement])],
        build_rows(config, results),
        sum_stage_seconds(results),
        [str(found["reason"]) for found in results.get("judges", {}).values() if "reason" in found],
    )


_MALFORMED = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""Exceptions that values of unexpected types may cause."""
T = TypeVar("T")


def _derive(opened: OpenRun, name: str, derive: Callable[[], T]) -> T | Problem:
    """Return the result of `derive`, or a problem if this fails because the file `name` is malformed."""
    try:
        return derive()
    except _MALFORMED as error:
        where = str(opened.run.path / name)
        return Problem(where, f"is not in this version's format ({type(error).__name__}: {error})")


def _read_verdict(opened: OpenRun) -> str:
    results = opened.run.results()
    try:
        found = None if isinstance(results, Problem) else judge_run(results)
    except _MALFORMED:  # `_read_results` reports the wrong format
        return ""
    return "" if found is None else found.text


def _sample_replies(opened: OpenRun) -> dict[int, list[tuple[str, float]]]:
    first = ((step, opened.samples.line(step, number)) for step, number in opened.samples.places() if number == 0)
    replies = {}
    for step, line in first:
        try:
            found = pick_first_replies(json.loads(line or b""))
        except (*_MALFORMED, RecursionError):  # the group's page reports what is wrong
            continue
        if found and all(is_number(reward) for _, reward in found):
            replies[step] = found
    return replies


def _format_newest_point(curve: LearningCurve, curves: Sequence[LearningCurve]) -> str:
    shown = f"{curve.title} {curve.points[-1].value:+,.5g}"
    return f"{curve.games}: {shown}" if len(curves) > 1 else shown


def _summarize_metrics(opened: OpenRun) -> list[MetricRow]:
    figures = []
    for name, series in opened.curves.curve(TRAIN).series.items():
        values = [value for value in series if value is not None]
        metric = find_metric(name)
        what, unit = (metric.what, metric.unit) if metric else ("", "")
        figures.append(MetricRow(name, values[-1], min(values), max(values), what, unit))
    return figures


_MAIN_SETTINGS = {
    "model": "model.name",
    "trained": "model.tune",
    "credit": "credit.kind",
    "objective": "objective.kind",
    "reward": "reward",
    "seed": "seed",
}
"""The settings shown among a run's main facts, by title."""


def _describe_settings(config: dict[str, Any], results: dict[str, Any] | Problem) -> dict[str, str]:
    """Describe a run's main settings, and what it imitated first."""
    facts = {
        name: str(value) for name, path in _MAIN_SETTINGS.items() if (value := _get_setting(config, path)) is not None
    }
    facts.setdefault("model", "a small one, created for this run")
    names = ("groups", "group_size", "decisions", "growth")
    groups, size, decisions, growth = (_get_setting(config, f"rollout.{name}") for name in names)
    if size and (groups or decisions):
        growing = f", growing {growth:g} times" if isinstance(growth, float) and growth > 1.0 else ""
        many = quantity(groups, "group") if groups else f"about {quantity(decisions, 'reply', 'replies')}, in groups"
        facts["a step"] = f"{many} of {quantity(size, 'match')}{growing}"
    if isinstance(stages := config.get("stages"), list):
        facts["opponents"] = ", then ".join(
            ", ".join(map(str, _get_setting(stage, "opponents") or ())) for stage in stages
        )
    if (teacher := _get_setting(config, "teacher")) not in (None, "none"):
        facts["teacher"] = str(teacher)
    if not isinstance(results, Problem) and (replies := _get_setting(results, "cold_start.replies")):
        longer = _get_setting(results, "cold_start.too_long")
        facts["cold start"] = f"on {quantity(replies, 'reply', 'replies')}" + (
            f"; {longer} more were too long" if longer else ""
        )
    return facts


def _get_setting(config: Any, path: str) -> Any:
    """Return a setting by its dotted name; None if missing."""
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return config
