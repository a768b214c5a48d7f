"""All tasks, or some, on all seeds: parallel runs in separate processes, then the tables.

The same command resumes after Ctrl-C: finished runs are skipped, and interrupted ones resume. Results are merged into
those published before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.learning.one import VERSIONS, demonstrate, measured_file
from benchmarks.learning.publish import merged, publish, read
from benchmarks.learning.tasks import SEEDS, TASKS, Task
from benchmarks.learning.verdict import is_missed
from benchmarks.report import RESULTS, about

INTERRUPTED = 130


def do(task: Task, seed: int, given: argparse.Namespace) -> dict[str, Any] | None:
    """Do one run in a separate process and show its output. Returns its measures, or why it failed; None if
    interrupted."""
    command = [sys.executable, "-m", "benchmarks.learning.one", task.name, str(seed), str(given.runs)]
    command += ["--command", about()["command"], *(["--measure-only"] if given.measure_only else [])]
    for setting in given.settings:
        command += ["--set", setting]
    print(f"[{task.name} {seed}] begins", flush=True)
    said: deque[str] = deque(maxlen=1)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # a second thread costs a small model more than it brings
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                said.append(line.strip())
                print(f"[{task.name} {seed}] {line.rstrip()}", flush=True)
    if process.returncode == INTERRUPTED:
        return None
    if process.returncode:
        return {"failed": "".join(said) or f"It ended with status {process.returncode}."}
    print(f"[{task.name} {seed}] is done", flush=True)
    found: dict[str, Any] = json.loads(measured_file(given.runs, task, seed).read_text(encoding="utf-8"))
    return found


def run_all(tasks: Sequence[Task], given: argparse.Namespace) -> dict[str, dict[int, dict[str, Any]]]:
    """Return every task on every seed, seed by seed.

    Raises `KeyboardInterrupt` after an interruption, once the other running tasks have stopped.
    """
    for task in () if given.measure_only else tasks:
        demonstrate(task, given.runs)
    with ThreadPoolExecutor(given.jobs) as pool:
        doing = {(task, seed): pool.submit(do, task, seed, given) for seed in given.seeds for task in tasks}
        try:
            found = {which: future.result() for which, future in doing.items()}
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)  # Ctrl-C reached them as well: they stop at a safe moment
            raise
    if None in found.values():
        raise KeyboardInterrupt
    results: dict[str, dict[int, dict[str, Any]]] = {task.name: {} for task in tasks}
    for (task, seed), one in found.items():
        if one is not None:
            results[task.name][seed] = one
    return results


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.learning", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(task.name for task in TASKS))
    parser.add_argument("--seeds", type=_seeds, default=SEEDS, help="separated by commas; 201,202,203 by default")
    parser.add_argument("--runs", type=Path, default=Path("runs/learning"), help="where the runs go")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--measure-only", action="store_true", help="measure runs that stand there already")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    parser.add_argument(
        *("--set", "-s"),
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="as in gymposium train",
    )
    given = parser.parse_args()
    names = {task.name: task for task in TASKS}
    if unknown := [name for name in given.tasks if name not in names]:
        parser.error(f"no such task: {', '.join(unknown)}. There are {', '.join(names)}.")
    tasks = [names[name] for name in dict.fromkeys(given.tasks)] or [*TASKS]
    try:
        found = run_all(tasks, given)
    except KeyboardInterrupt:
        print("\nStopped. Run the same command to resume.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    earlier = read(given.out)
    results = {**earlier, **{task.name: merged(earlier, task, found[task.name]) for task in tasks}}
    publish(given.out, results, *VERSIONS)
    failed = any("failed" in one for seeds in found.values() for one in seeds.values())
    sys.exit(failed or any(is_missed(goal, task, results) for task in tasks for goal in task.goals))


def _seeds(text: str) -> tuple[int, ...]:
    return tuple(int(seed) for seed in text.split(","))


if __name__ == "__main__":
    main()
