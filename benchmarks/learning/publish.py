"""The results as files: JSON, Markdown, PNG, and a page that needs nothing else. What was measured earlier stays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from jinja2 import Environment, FileSystemLoader, select_autoescape

from benchmarks.learning import curves, table
from benchmarks.learning.tasks import TASKS, Task
from benchmarks.learning.verdict import Results
from benchmarks.report import about, table as as_markdown, write

NAME = "learning"


def merged(earlier: Results, task: Task, found: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a task's results: those of these seeds, and earlier ones of other seeds with the same settings."""
    runs = {str(seed): run for seed, run in found.items()}
    configs = [run.pop("config") for run in runs.values() if "config" in run]
    before = earlier.get(task.name, {})
    config = _drop_seed(configs[0]) if configs else before.get("config")
    kept = before["seeds"] if before and before["config"] == config else {}
    return {"budget": task.budget, "config": config, "seeds": dict(sorted({**kept, **runs}.items()))}


def _drop_seed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are the same for all seeds."""
    return {name: setting for name, setting in config.items() if name != "seed"}


def read(out: Path) -> Results:
    """Return the earlier results, or nothing if there is no such file yet."""
    file = out / f"{NAME}.json"
    if not file.is_file():
        return {}
    found: Results = json.loads(file.read_text(encoding="utf-8"))["tasks"]
    return found


def publish(out: Path, results: Results, *versions: str) -> None:
    """Write all files again, in task order. Writes nothing if no run was finished."""
    tasks = [task for task in TASKS if results.get(task.name, {}).get("config")]
    if not tasks:
        return
    ordered = {task.name: results[task.name] for task in tasks}
    out.mkdir(parents=True, exist_ok=True)
    drawn = curves.draw(tasks, ordered)
    drawn.savefig(out / f"{NAME}.png", dpi=110)
    rows, misses, anchors = table.rows(tasks, ordered), [*table.misses(tasks, ordered)], [*table.anchors(tasks)]
    made = {task.name: [*_made(ordered[task.name])] for task in tasks}
    lists = {
        "What was not reached or not done": misses or ["Everything that must be reached was reached."],
        "What others reach": anchors,
        "How each was made": [f"{name}: {line}" for name, lines in made.items() for line in lines],
    }
    text = f"{table.LEGEND}\n\n{as_markdown(table.HEAD, rows)}\n![Learning curves]({NAME}.png)\n\n{curves.LEGEND}\n"
    for heading, lines in lists.items():
        text += f"\n## {heading}\n\n" + "".join(f"- {line}\n" for line in lines)
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=select_autoescape())
    page = environment.get_template("page.html").render(
        head=table.HEAD,
        legend=table.LEGEND,
        rows=rows,
        misses=misses,
        anchors=anchors,
        curves=curves.as_svg(drawn),
        curves_legend=curves.LEGEND,
        tasks=tasks,
        made=made,
        configs={task.name: tomlkit.dumps(_given(ordered[task.name]["config"])) for task in tasks},
    )
    (out / f"{NAME}.html").write_text(page, encoding="utf-8")
    write(out, NAME, {"about": about(*versions), "tasks": ordered}, text)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a TOML file holds them, without those equal to None.

    Names are those of the version that made the run, and may have changed.
    """
    return {
        name: _given(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if value is not None
    }


def _made(found: Mapping[str, Any]) -> Iterator[str]:
    """Return the commands, dates, versions and tokenizers of the runs. Seeds that agree share one entry."""
    lines: dict[str, list[str]] = {}
    for seed, run in found["seeds"].items():
        if "failed" not in run:
            facts = run["about"]
            versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
            said = f"{facts['command']}, {facts['date']}; {versions}; tokenizer {run['tokenizer'][:12]}"
            lines.setdefault(said, []).append(seed)
    for said, seeds in lines.items():
        yield f"seeds {', '.join(seeds)}: {said}"
