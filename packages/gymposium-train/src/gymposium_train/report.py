"""The report of a run: a self-contained HTML file with learning curves and all results."""

from __future__ import annotations

import io
import json
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from gymposium.durable import replace_text
from gymposium.runs.curves import Curve, Curves
from gymposium.runs.results import OPTIMUM, LearningCurve, learning_curves, lines, spent, verdict
from gymposium.runs.samples import SamplesIndex
from gymposium_train.config import TrainConfig
from gymposium_train.config.measure import IN_WORDS
from gymposium_train.config.writing import as_data
from gymposium_train.directory import RunDirectory
from gymposium_train.samples import first_replies

_BLUE = "#2563eb"
_COLOURS = ("#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2")

TRAINING = {
    "mean reward": {"": "rollout/reward"},
    "failed replies (share)": {
        "illegal": "rollout/illegal",
        "unparsable": "rollout/unparsable",
        "cut off": "rollout/cut_off",
    },
    "groups without a learning signal": {"": "rollout/groups_tied"},
    "entropy (nats a token)": {"tokens": "train/entropy", "legal replies": "train/move_entropy"},
    "approx. KL of a step": {"": "train/approx_kl"},
    "clip fraction": {"": "train/clipfrac"},
    "KL to the reference": {"": "train/kl"},
    "mismatch KL (engine, learner)": {"": "train/mismatch_kl"},
    "gradient norm": {"": "train/grad_norm"},
    "value loss": {"": "train/value_loss"},
    "explained variance": {"": "train/explained_variance"},
    "seconds": {
        "step": "perf/seconds",
        "rollout": "perf/seconds_rollout",
        "update": "perf/seconds_update",
        "publish": "perf/seconds_publish",
    },
    "tokens a second": {"rollout": "perf/tokens_per_second_rollout", "update": "perf/tokens_per_second_update"},
    "peak memory (MiB)": {"host": "perf/memory_host", "device": "perf/memory_device"},
}
"""Panels by title, each with its metrics by label. Metrics that a run does not have are left out."""
PARTS = "rollout/reward/"
COLUMNS = 4


def write_report(directory: RunDirectory, config: TrainConfig) -> None:
    """Write `report.html` from the files of the run directory."""
    results, metrics = directory.results(), Curves(directory.metrics_file)
    metrics.refresh()
    environment = Environment(loader=PackageLoader("gymposium_train"), autoescape=select_autoescape())
    data = as_data(config)
    page = environment.get_template("report.html").render(
        config=config,
        settings=directory.config_file.read_text(encoding="utf-8"),
        versions=json.loads(directory.versions_file.read_text(encoding="utf-8")),
        lines=lines(data, results),
        curves={curve.game: drawn(curve) for curve in learning_curves(data, results, metrics)},
        training=training_curves(metrics.curve()),
        replies=sample_replies(directory),
        spent=spent(results),
        verdict=verdict(results),
        steps=results.get("steps"),
        imitated=results.get("cold_start"),
        kept=IN_WORDS[config.cold_start.kept],
    )
    replace_text(directory.report, page)


def sample_replies(directory: RunDirectory) -> dict[int, list[tuple[str, float]]]:
    """Some first replies of each kept step, with the rewards of their trajectories: those of the step's first group."""
    samples = SamplesIndex(directory.samples_file)
    samples.refresh()
    first = ((step, samples.line(step, number)) for step, number in samples.places() if number == 0)
    return {step: first_replies(json.loads(line)) for step, line in first if line is not None}


def drawn(curve: LearningCurve) -> str:
    """Greedy wins (or mean score, for a game played alone) against the first opponent by step, as SVG."""
    steps, values = [point.step for point in curve.points], [point.value for point in curve.points]
    figure, ((axes,),) = _figure(1, 1)
    axes.plot(steps, values, marker="o", color=_BLUE, label="language model, greedy")
    low, high = [point.low for point in curve.points], [point.high for point in curve.points]
    axes.fill_between(steps, low, high, color=_BLUE, alpha=0.15)
    colours = iter(_COLOURS)
    for label, value in curve.levels.items():
        if label == OPTIMUM:
            axes.axhline(value, color="#111827", linestyle=":", label=label)
        elif colour := next(colours, None):
            axes.axhline(value, color=colour, linestyle="--", label=label)
    axes.set_xlabel("training step; the cold start before 0" if steps[0] < 0 else "training step")
    axes.set_ylabel("mean score" if curve.alone else f"wins against {curve.opponent}")
    axes.legend(fontsize="small", loc="best")
    return _svg(figure)


def training_curves(curve: Curve) -> str:
    """The metrics of the training steps as SVG, in panels; empty before the first step."""
    parts = {name.removeprefix(PARTS): name for name in curve.series if name.startswith(PARTS)}
    layout = {**TRAINING, "parts of the reward, means": parts}
    panels = {
        label: {word: series for word, name in names.items() if (series := _series(curve, name))[0]}
        for label, names in layout.items()
    }
    panels = {label: curves for label, curves in panels.items() if curves}
    if not panels:
        return ""
    figure, grid = _figure(-(-len(panels) // COLUMNS), min(COLUMNS, len(panels)))
    places = [axes for row in grid for axes in row]
    for axes, (label, curves) in zip(places, panels.items(), strict=False):
        for name, (steps, values) in curves.items():
            axes.plot(steps, values, label=name, color=None if name else _BLUE)
        axes.set_title(label, fontsize="medium")
        axes.set_xlabel("training step")
        if any(curves):
            axes.legend(fontsize="x-small")
    for axes in places[len(panels) :]:
        axes.remove()
    return _svg(figure)


def _series(curve: Curve, name: str) -> tuple[list[int], list[float]]:
    """The steps at which a metric has a value, and its values."""
    series = zip(curve.steps, curve.series.get(name, ()), strict=False)
    known = [(step, value) for step, value in series if value is not None]
    return [step for step, _ in known], [value for _, value in known]


def _figure(rows: int, columns: int) -> Any:
    from matplotlib.figure import Figure

    size = (8.0, 4.0) if rows * columns == 1 else (3.4 * columns, 2.8 * rows)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _svg(figure: Any) -> str:
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": "gymposium"}):  # equal figures become equal bytes
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
