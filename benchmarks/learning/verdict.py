"""Whether a goal was reached: on every seed, by the last iterate, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.learning.one import COLD_START, CONTROL, TRAINED
from benchmarks.learning.tasks import SEEDS, Goal, Task

Results = Mapping[str, Mapping[str, Any]]
"""By task: its `config`, and under `seeds` what was measured of each run, or why it `failed`."""


def measured(task: Task, results: Results) -> dict[str, dict[str, Any]]:
    """Return the finished runs, by seed."""
    return {seed: found for seed, found in results[task.name]["seeds"].items() if "failed" not in found}


def failed(task: Task, results: Results) -> dict[str, str]:
    """Return the reasons of failed runs, by seed."""
    return {seed: found["failed"] for seed, found in results[task.name]["seeds"].items() if "failed" in found}


def spent(found: Mapping[str, Any]) -> float:
    """Return the CPU seconds of a run that count toward the budget."""
    return float(found["cpu_seconds"]["cold_start"] + found["cpu_seconds"]["train"])


def value(goal: Goal, who: str, task: Task, seed: str, results: Results) -> float | None:
    """Return a goal's figure for one of the measured players.

    Returns None if it is missing: a single run that was not done, or a player without a legal move.
    """
    mine = _figure(goal, who, task.name, seed, results)
    if goal.single is None:
        return mine
    theirs = _figure(goal, who, goal.single, seed, results)
    if mine is None or theirs is None:
        return None
    return 100.0 * ((mine - theirs) if goal.falls else (theirs - mine))


def _figure(goal: Goal, who: str, task: str, seed: str, results: Results) -> float | None:
    found = results.get(task, {}).get("seeds", {}).get(seed, {})
    figure: float | None = found["figures"][who][goal.game][goal.figure] if "figures" in found else None
    return figure


def is_missed(goal: Goal, task: Task, results: Results) -> bool:
    """Return whether a required goal was missed on some seed, or on too many."""
    if goal.must is None and goal.ahead is None:
        return False
    return bool(failed(task, results) or over(task, results) or _below(goal, task, results)) or _behind(
        goal, task, results
    )


def over(task: Task, results: Results) -> list[str]:
    """Return the seeds that exceeded the budget."""
    return [seed for seed, found in measured(task, results).items() if spent(found) > task.budget]


def verdict(goal: Goal, task: Task, results: Results) -> str:
    """Describe the result of a goal."""
    runs = measured(task, results)
    said = [f"run failed on {_seeds(failed(task, results))}"] if failed(task, results) else []
    if late := over(task, results):
        said.append(f"OVER BUDGET on {_seeds(late)}")
    if goal.ahead is not None:
        short = "MISSED" if _behind(goal, task, results) else "reached"
        said.append(f"must {short}: ahead on {len(_ahead(goal, task, results))} of {len(runs)}")
    elif goal.must is None:
        said.append("measured")
    elif goal.single is not None and goal.single not in results:
        said.append(f"not compared yet: {goal.single} was not done")
    elif below := _below(goal, task, results):
        said.append(f"must MISSED on {_seeds(below)} ({len(below)} of {len(runs)})")
    elif runs:
        said.append("must reached on every seed")
    if goal.aim is not None:
        good = _count(goal, task, results, lambda found: reaches(goal, found, goal.aim))
        said.append(f"aim reached on {good} of {len(runs)}")
    return "; ".join(said)


def reaches(goal: Goal, found: float | None, bar: float | None) -> bool:
    """Return whether a figure meets `bar`."""
    if found is None or bar is None:
        return False
    return found <= bar if goal.falls or goal.single is not None else found >= bar


def _behind(goal: Goal, task: Task, results: Results) -> bool:
    """Return whether the trained model fails to be ahead on too many seeds."""
    if goal.ahead is None:
        return False
    return len(measured(task, results)) - len(_ahead(goal, task, results)) > len(SEEDS) - goal.ahead


def _ahead(goal: Goal, task: Task, results: Results) -> list[str]:
    """Return the seeds where the trained model is above its cold start and its control, with separate intervals."""

    def interval(who: str, found: Mapping[str, Any]) -> list[float]:
        ends: list[float] = found["figures"][who][goal.game][f"{goal.figure} interval"]
        return ends

    return [
        seed
        for seed, found in measured(task, results).items()
        if interval(TRAINED, found)[0] > max(interval(who, found)[1] for who in (COLD_START, CONTROL))
    ]


def _below(goal: Goal, task: Task, results: Results) -> list[str]:
    runs = measured(task, results)
    if goal.must is None:
        return []
    return [s for s in runs if not reaches(goal, value(goal, TRAINED, task, s, results), goal.must)]


def _count(goal: Goal, task: Task, results: Results, good: Callable[[float | None], bool]) -> int:
    return sum(good(value(goal, TRAINED, task, seed, results)) for seed in measured(task, results))


def _seeds(seeds: Mapping[str, Any] | list[str]) -> str:
    return ", ".join(seeds)
