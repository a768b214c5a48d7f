"""The report of a run: one HTML file that needs nothing else, with the learning curves and every figure."""

from __future__ import annotations

import io
import json
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from gymposium.scores import rate
from gymposium_train.config import TrainConfig
from gymposium_train.config.measure import IN_WORDS
from gymposium_train.directory import RunDirectory
from gymposium_train.summary import ANCHOR, lines, player_name, spent

_BLUE = "#2563eb"
_COLOURS = ("#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2")

TRAINING = {
    "rollout/reward": "mean reward",
    "train/entropy": "entropy (nats a token)",
    "train/approx_kl": "approx. KL of a step",
    "train/kl": "KL to the reference",
    "train/mismatch_kl": "mismatch KL (engine, learner)",
    "train/grad_norm": "gradient norm",
    "train/value_loss": "value loss",
    "train/explained_variance": "explained variance",
}
"""Metrics that have a panel, where a run has them."""
PARTS = "rollout/reward/"
COLUMNS = 4


def write_report(directory: RunDirectory, config: TrainConfig) -> None:
    """Write `report.html` from what stands in the run directory."""
    results, metrics = directory.results(), [m for m in directory.metrics() if m["stage"] == "train"]
    environment = Environment(loader=PackageLoader("gymposium_train"), autoescape=select_autoescape())
    games = next(iter(results["evaluations"].values()))
    page = environment.get_template("report.html").render(
        config=config,
        settings=directory.config_file.read_text(encoding="utf-8"),
        versions=json.loads(directory.versions_file.read_text(encoding="utf-8")),
        lines=lines(config, results),
        curves={game: learning_curve(config, game, results, metrics) for game in games},
        training=training_curves(metrics),
        spent=spent(results),
        imitated=results.get("cold_start"),
        kept=IN_WORDS[config.cold_start.keep],
    )
    directory.report.write_text(page, encoding="utf-8")


def learning_curve(config: TrainConfig, game: str, results: dict[str, Any], metrics: list[dict[str, Any]]) -> str:
    """Greedy wins (or mean score, for a game played alone) against the first opponent by step, as SVG."""
    evaluations = {what: scores[game] for what, scores in results["evaluations"].items() if game in scores}
    opponent = next(iter(evaluations["cold start"]))
    alone = opponent == "alone"
    points = [(0, _headline(evaluations["cold start"][opponent]))]
    points += _points(config, f"eval/{game}/{opponent}/{'return' if alone else 'win'}", alone, metrics)
    if "trained" in evaluations:
        points.append((config.steps, _headline(evaluations["trained"][opponent])))
    steps = [step for step, _ in points]
    figure, ((axes,),) = _figure(1, 1)
    axes.plot(steps, [p[0] for _, p in points], marker="o", color=_BLUE, label="language model, greedy")
    axes.fill_between(steps, [p[1] for _, p in points], [p[2] for _, p in points], color=_BLUE, alpha=0.15)
    others = [what for what in evaluations if what == "control" or what.startswith(ANCHOR)]
    for what, colour in zip(others, _COLOURS, strict=False):
        if opponent in evaluations[what]:
            label = "control: more SFT" if what == "control" else player_name(config, what)
            axes.axhline(_headline(evaluations[what][opponent])[0], color=colour, linestyle="--", label=label)
    optima = results.get("optima", {}).get(game, {})
    if "most wins" in optima and opponent == "random":
        axes.axhline(optima["most wins"]["win"], color="#111827", linestyle=":", label="exact optimum")
    axes.set_xlabel("training step")
    axes.set_ylabel("mean score" if alone else f"wins against {opponent}")
    axes.legend(fontsize="small", loc="best")
    return _svg(figure)


def training_curves(metrics: list[dict[str, Any]]) -> str:
    """What the training steps showed, a panel for each figure that there is, as SVG; empty before the first step."""
    panels = {label: {"": _series(metrics, name)} for name, label in TRAINING.items()}
    names = dict.fromkeys(name for m in metrics for name in m if name.startswith(PARTS))
    panels["parts of the reward, means"] = {name.removeprefix(PARTS): _series(metrics, name) for name in names}
    panels = {label: found for label, found in panels.items() if any(steps for steps, _ in found.values())}
    if not panels:
        return ""
    figure, grid = _figure(-(-len(panels) // COLUMNS), min(COLUMNS, len(panels)))
    places = [axes for row in grid for axes in row]
    for axes, (label, found) in zip(places, panels.items(), strict=False):
        for name, (steps, values) in found.items():
            axes.plot(steps, values, label=name, color=None if name else _BLUE)
        axes.set_title(label, fontsize="medium")
        axes.set_xlabel("training step")
        if any(found):
            axes.legend(fontsize="x-small")
    for axes in places[len(panels) :]:
        axes.remove()
    return _svg(figure)


def _series(metrics: list[dict[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """A metric's steps and values, where it has one."""
    found = [(m["step"], m[name]) for m in metrics if m.get(name) is not None]
    return [step for step, _ in found], [value for _, value in found]


def _points(
    config: TrainConfig, name: str, alone: bool, metrics: list[dict[str, Any]]
) -> list[tuple[int, list[float]]]:
    """The curve between its ends: value, low and high. Of a mean score no more is noted than itself."""
    found = []
    for step, value in zip(*_series(metrics, name), strict=True):
        matches = config.evaluation.curve_matches
        estimate = None if alone else rate(round(value * matches), matches)
        found.append((step, [value, value, value] if estimate is None else [value, estimate.low, estimate.high]))
    return found


def _headline(score: dict[str, Any]) -> list[float]:
    """The estimate that a curve shows: wins, or the mean return where a game is played alone."""
    value, low, high = score["return"] if "score" in score["results"] else score["results"]["win"]
    return [value, value if low is None else low, value if high is None else high]


def _figure(rows: int, columns: int) -> Any:
    from matplotlib.figure import Figure

    size = (8.0, 4.0) if rows * columns == 1 else (3.4 * columns, 2.8 * rows)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _svg(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
