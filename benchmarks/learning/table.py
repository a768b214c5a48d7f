"""The table of all goals, and notes on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.learning.measures import ALONE_MATCHES, RANDOM_MATCHES, SEARCH_MATCHES, TASKS_EACH
from benchmarks.learning.one import COLD_START, CONTROL, RANDOM, TRAINED
from benchmarks.learning.tasks import SEEDS, TASKS, Goal, Task
from benchmarks.learning.verdict import Results, failed, is_missed, measured, spent, value, verdict

HEAD = (
    *("task", "figure", "trained, seed by seed", "must", "aim"),
    *("cold start", "control", "random play", "CPU s", "budget", "verdict"),
)
LEGEND = (
    f"The last iterate of each run, never its best, on seeds fixed beforehand. In square brackets 95 % intervals "
    f"({RANDOM_MATCHES:,} games against random play, {SEARCH_MATCHES} against a search, {ALONE_MATCHES} alone, "
    f"{TASKS_EACH:,} questions of a world); figures without are exact, by traversal of the whole game; a legal mass is "
    f"the least share of replies that are legal moves, and the exploitability is that of the legal moves alone. CPU "
    f"seconds are process time of cold start and training, which the budget is for. The control spends those of the "
    f"training on more imitation of the same matches, from the same cold start. Each run makes its small model as "
    f"`gymposium train` does, with a tokenizer of its games' prompts, and begins with uniform random play alone, in a "
    f"world with matches of an expert. In the tasks named teacher and main-job, it begins with a teacher, whose time "
    f"counts, and who knows the game's rules. A model is ahead if its interval is above those of its cold start and "
    f"its control. (Runs with equal tokenizers, named below, began with a model for all games.)"
)


def rows(tasks: list[Task], results: Results) -> list[list[str]]:
    """Return a row for each goal of the tasks with results."""
    return [_row(goal, task, results) for task in tasks for goal in task.goals]


def anchors(tasks: list[Task]) -> Iterator[str]:
    """Yield the figures of other players, task by task."""
    told: set[str] = set()
    for task in tasks:
        for anchor in task.anchors:
            if anchor not in told:
                told.add(anchor)
                yield f"{task.name.partition('-')[0]}: {anchor}."


def misses(tasks: list[Task], results: Results) -> Iterator[str]:
    """Yield descriptions of missed goals and missing runs."""
    for task in TASKS:
        if left := [str(seed) for seed in SEEDS if task not in tasks or str(seed) not in results[task.name]["seeds"]]:
            yield f"{task.name}: not done yet on {', '.join(left)}."
    for task in tasks:
        for seed, why in failed(task, results).items():
            yield f"{task.name}, seed {seed}: the run stopped. {why}"
        for goal in task.goals:
            if is_missed(goal, task, results):
                yield f"{task.name}, {goal.what}: {verdict(goal, task, results)}."


def _row(goal: Goal, task: Task, results: Results) -> list[str]:
    runs = measured(task, results)

    def each(who: str) -> str:
        played = [seed for seed, found in runs.items() if who in found["figures"]]
        return " / ".join(_cell(goal, who, task, seed, results) for seed in played) or "–"

    return [
        task.name,
        goal.what,
        each(TRAINED),
        _must(goal),
        "–" if goal.aim is None else number(goal, goal.aim),
        each(COLD_START),
        each(CONTROL),
        "–" if goal.single else each(RANDOM),
        " / ".join(f"{spent(found):,.0f}" for found in runs.values()) or "–",
        f"{task.budget:,.0f}",
        verdict(goal, task, results),
    ]


def _must(goal: Goal) -> str:
    if goal.ahead is not None:
        return f"ahead on {goal.ahead} of {len(SEEDS)}"
    return "measured" if goal.must is None else number(goal, goal.must)


def _cell(goal: Goal, who: str, task: Task, seed: str, results: Results) -> str:
    found = value(goal, who, task, seed, results)
    figures: dict[str, Any] = measured(task, results)[seed]["figures"][who][goal.game]
    shown = "–" if found is None else number(goal, found)
    if goal.single is not None:
        return f"{shown} (it has {figures[goal.figure]:.3f})"
    if f"{goal.figure} interval" in figures:
        low, high = (number(goal, end) for end in figures[f"{goal.figure} interval"])
        return f"{shown} [{low}, {high}]"
    if goal.figure == "held":
        return f"{shown} (first {figures['first']}, second {figures['second']})"
    if goal.figure == "exploitability":
        return f"{shown} (legal mass {figures['legal mass']:.4f})"
    return shown


def number(goal: Goal, found: float) -> str:
    """Format a figure of this goal."""
    if goal.single is not None:
        return f"{found:+.1f}"
    if goal.figure in ("score", "held"):
        return f"{found:,.0f}"
    return f"{found:.3f}"
