"""The report of a run: one HTML file that needs nothing else, with the learning curve and every figure."""

from __future__ import annotations

import io
import json
import math
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from gymposium_train.config import TrainConfig
from gymposium_train.directory import RunDirectory
from gymposium_train.summary import lines


def write_report(directory: RunDirectory, config: TrainConfig) -> None:
    """Write `report.html` from what stands in the run directory."""
    results, metrics = directory.results(), directory.metrics()
    environment = Environment(loader=PackageLoader("gymposium_train"), autoescape=select_autoescape())
    page = environment.get_template("report.html").render(
        config=config,
        settings=directory.config_file.read_text(encoding="utf-8"),
        versions=json.loads((directory.path / "versions.json").read_text(encoding="utf-8")),
        lines=lines(config, results),
        results=results,
        curve=learning_curve(config, results, metrics),
        training=training_curves(metrics),
    )
    directory.report.write_text(page, encoding="utf-8")


def learning_curve(config: TrainConfig, results: dict[str, Any], metrics: list[dict[str, Any]]) -> str:
    """Greedy wins (or mean score, for a game played alone) against the first opponent by step, as SVG."""
    evaluations = results["evaluations"]
    opponent = next(iter(evaluations["cold start"]))
    points = [(0, _headline(evaluations["cold start"][opponent]))]
    points += [(m["step"], _headline(m)) for m in metrics if m["stage"] == "curve"]
    points.append((config.grpo.steps, _headline(evaluations["grpo"][opponent])))
    alone = opponent == "alone"
    steps = [step for step, _ in points]
    figure, axes = _figure()
    axes.plot(steps, [p[0] for _, p in points], marker="o", color="#2563eb", label="language model, greedy")
    axes.fill_between(steps, [p[1] for _, p in points], [p[2] for _, p in points], color="#2563eb", alpha=0.15)
    for name, label, colour in (
        ("control", "control: more SFT", "#d97706"),
        ("anchor random", "random play", "#6b7280"),
        ("anchor mcts-100", "mcts-100", "#059669"),
    ):
        if opponent in evaluations.get(name, {}):
            axes.axhline(_headline(evaluations[name][opponent])[0], color=colour, linestyle="--", label=label)
    if "most wins" in results.get("optima", {}) and opponent == "random":
        axes.axhline(results["optima"]["most wins"]["win"], color="#111827", linestyle=":", label="exact optimum")
    axes.set_xlabel("GRPO step")
    axes.set_ylabel("mean score" if alone else f"wins against {opponent}")
    axes.legend(fontsize="small", loc="lower right")
    return _svg(figure)


def training_curves(metrics: list[dict[str, Any]]) -> str:
    """Reward, its parts, entropy and KL of the training steps, as SVG."""
    steps = [m for m in metrics if m["stage"] == "grpo" and "entropy" in m]
    names = (("reward", "mean reward"), ("entropy", "entropy (nats a token)"), ("approx_kl", "approx. KL of a step"))
    figure, panels = _figure(columns=len(names) + 1)
    for axes, (key, label) in zip(panels, names, strict=False):
        axes.plot([m["step"] for m in steps], [m[key] for m in steps], color="#2563eb")
        axes.set_title(label, fontsize="medium")
    for part in dict.fromkeys(name for m in steps for name in m["reward_parts"]):
        values = [m["reward_parts"].get(part, math.nan) for m in steps]
        panels[-1].plot([m["step"] for m in steps], values, label=part)
    panels[-1].set_title("parts of the reward, means", fontsize="medium")
    if panels[-1].lines:
        panels[-1].legend(fontsize="x-small")
    for axes in panels:
        axes.set_xlabel("GRPO step")
    return _svg(figure)


def _headline(score: dict[str, Any]) -> list[float]:
    """The estimate that a curve shows: wins, or the mean return where a game is played alone."""
    if "score" in score["results"]:
        return list(score["return"])
    return list(score["results"]["win"])


def _figure(columns: int = 1) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(8.0 if columns == 1 else 3.4 * columns, 4.0 if columns == 1 else 2.8), layout="constrained"
    )
    return figure, figure.subplots(1, columns)


def _svg(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
