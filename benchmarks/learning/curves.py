"""Learning curves: all seeds over CPU seconds, a panel for each task and game."""

from __future__ import annotations

import io
from typing import Any

from benchmarks.learning.measures import CURVES, find_kind
from benchmarks.learning.one import CONTROL, RANDOM
from benchmarks.learning.tasks import Task
from benchmarks.learning.verdict import Results, measured

COLUMNS = 2
_COLORS = ("#2563eb", "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2")


def draw(tasks: list[Task], results: Results) -> Any:
    """Return a matplotlib figure. Runs that failed have no curve."""
    from matplotlib.figure import Figure

    panels = [(task, game) for task in tasks for game in results[task.name]["config"]["games"]]
    height = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(6.0 * COLUMNS, 3.6 * height), layout="constrained")
    places = [axes for row in figure.subplots(height, COLUMNS, squeeze=False) for axes in row]
    for axes, (task, game) in zip(places, panels, strict=False):
        _panel(axes, task, game, results)
    for axes in places[len(panels) :]:
        axes.remove()
    return figure


def _panel(axes: Any, task: Task, game: str, results: Results) -> None:
    figure, words = CURVES[find_kind(game)]
    for (seed, found), color in zip(measured(task, results).items(), _COLORS, strict=False):
        seconds, values = zip(*found["curves"][game], strict=True)
        axes.plot(seconds, values, marker=".", color=color, label=f"seed {seed}")
        if CONTROL in found["figures"]:
            control = found["cpu_seconds"]["cold_start"] + found["cpu_seconds"]["control"]
            axes.plot(control, found["figures"][CONTROL][game][figure], marker="x", color=color, linestyle="none")
        if RANDOM in found["figures"]:
            axes.axhline(found["figures"][RANDOM][game][figure], color="#9ca3af", linewidth=0.8, linestyle=":")
    for goal in task.goals:
        if (goal.game, goal.figure) == (game, figure) and goal.single is None:
            for bar, style in ((goal.must, "--"), (goal.aim, "-.")):
                if bar is not None:
                    axes.axhline(bar, color="#111827", linewidth=0.8, linestyle=style)
    axes.axvline(task.budget, color="#dc2626", linewidth=0.8)
    axes.set_title(task.name if len(results[task.name]["config"]["games"]) == 1 else f"{task.name}: {game}")
    axes.set_xlabel("CPU seconds, cold start included")
    axes.set_ylabel(words, fontsize="small")
    if measured(task, results):
        axes.legend(fontsize="x-small", loc="best")


LEGEND = (
    "Measured at both ends as in the table; in between by the run's short evaluations or, exploitability, exactly at "
    "each checkpoint. Crosses: the control. Dashed: what must be reached; dash-dotted: the aim; dotted: random play; "
    "red: the budget."
)


def as_svg(figure: Any) -> str:
    """Return the figure as SVG for a page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
