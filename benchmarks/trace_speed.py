"""Programs of code tracing made per second on two cores, each run twice with equal output, without a cache.

Every program has its own seed, and the grades of difficulty take turns. Rejected programs are drawn again, and count in
the time. The target is for CPU time, including that of subprocesses: two idle cores give two CPU seconds per second.

The result also gives the wall-time rate, and how many bare interpreters the same cores start per second. Each program
needs two starts. The ratio of the two rates can be compared between machines.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.cpu_time import cpu_seconds
from benchmarks.report import RESULTS, about, table, write
from gymposium.util.child_process import make_python_command
from gymposium_trace.programs import GRADES
from gymposium_trace.running.backends import ENVIRONMENT, OPTIONS, PYTHON
from gymposium_trace.sources import GeneratedPrograms
from gymposium_trace.tasks import Task

CORES = 2
LEAST = 20.0
"""Least number of programs per second."""


T = TypeVar("T")


def per_second(work: Callable[[int], T], count: int) -> tuple[float, list[T]]:
    """Do `count` pieces of work with one thread for each core. Return the pieces per second, and the results."""
    with ThreadPoolExecutor(CORES) as pool:
        start = time.perf_counter()
        results = list(pool.map(work, range(count)))
        return count / (time.perf_counter() - start), results


def start_python(number: int) -> None:
    subprocess.run(make_python_command(*OPTIONS, "-c", "pass", python=PYTHON), env=ENVIRONMENT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000, help="number of programs to make (default: 1000)")
    parser.add_argument("--prints", type=int, default=4, help="most debug prints in a program (default: 4)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    sources = [GeneratedPrograms(grade, given.prints) for grade in GRADES]
    sources[0].draw(-1)  # finds out how programs can be run here

    def make(number: int) -> tuple[Task, float]:
        start = time.perf_counter()
        task = sources[number % len(sources)].draw(number)
        return task, time.perf_counter() - start

    bare_before, _ = per_second(start_python, max(20, given.programs // 10))
    before = cpu_seconds()
    clocked, made = per_second(make, given.programs)
    cpu = (cpu_seconds() - before) / given.programs
    rate = CORES / cpu
    bare_after, _ = per_second(start_python, max(20, given.programs // 10))
    bare = (bare_before + bare_after) / 2
    tasks = [task for task, _ in made]
    alone = [make(given.programs + number)[1] for number in range(max(10, given.programs // 20))]
    data = {
        "about": about("gymposium", "gymposium-trace"),
        "programs": given.programs,
        "cores": CORES,
        "programs_per_second": round(rate, 1),
        "must_be_at_least": LEAST,
        "cpu_ms_per_program": round(1000 * cpu, 1),
        "clocked_per_second": round(clocked, 1),
        "clocked_bare_starts_per_second": round(bare, 1),
        "programs_per_bare_start": round(clocked / bare, 3),
        "one_alone_ms": round(1000 * median(alone), 1),
        "distinct_programs": len({task.program for task in tasks}),
        "distinct_outputs": len({task.truth for task in tasks}),
        "characters": {
            "program": round(median(len(task.program) for task in tasks)),
            "output": round(median(len(task.truth) for task in tasks)),
        },
    }
    rows = [
        ["programs made, run twice and agreeing, a second", f"{rate:.1f}"],
        ["CPU ms for each", f"{1000 * cpu:.1f}"],
        ["the same by the clock, a second", f"{clocked:.1f}"],
        ["bare interpreters started by the clock, a second", f"{bare:.1f}"],
        ["one program made alone by the clock, ms", f"{data['one_alone_ms']}"],
        ["distinct programs", f"{data['distinct_programs']} of {given.programs}"],
        ["distinct outputs", f"{data['distinct_outputs']} of {given.programs}"],
    ]
    verdict = "not below" if rate >= LEAST else "BELOW"
    share = f"{clocked / bare:.2f} programs for each bare start"
    end = f"\n{share}; {rate:.0f} a second, {verdict} the {LEAST:.0f} that it must be.\n"
    write(given.out, "trace_speed", data, table(["two cores, nothing kept", ""], rows) + end)
    sys.exit(rate < LEAST)


if __name__ == "__main__":
    main()
