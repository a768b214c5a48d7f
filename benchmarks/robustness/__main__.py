"""Attack gymposium and count what fails: a table of tries and failures.

Parts:
  replies      1,000,000 hostile replies in positions of every game, through every reader
  kills        `run`, `leaderboard run` and `train`, killed in every phase and resumed
  served-kills `serve`, killed in a request, in a step and after a publish, and resumed
  plugins      plugins that raise, print, close stdout or end the process, and damaged distributions
  chat-faults  chat servers that lie, hang, or send garbage
  tampering    a published board, changed by hand
  files        damaged and hostile files of every kind, each given to the command that reads it
  requests     damaged and hostile requests to every server

Each row is written when it is done. A command that was interrupted resumes: it leaves out the rows that this
commit and seed already have, and replaces all others. The exit status is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, about, table, write
from benchmarks.robustness.row import Row

PARTS = {
    "replies": "benchmarks.robustness.replies",
    "kills": "benchmarks.robustness.kills",
    "served-kills": "benchmarks.robustness.served_kills",
    "plugins": "benchmarks.robustness.broken_plugins",
    "chat-faults": "benchmarks.robustness.chat_faults",
    "tampering": "benchmarks.robustness.tampering",
    "files": "benchmarks.robustness.hostile_files",
    "requests": "benchmarks.robustness.hostile_requests",
}
"""The module of each part. A part's libraries are imported only when it runs."""


def run_part(part: str, seed: int, folder: Path) -> None:
    """Run the missing rows of a part, and write each when it is done. Failures name files without their folders."""
    asked: list[str] = []

    def wanted(what: str) -> bool:
        asked.append(what)
        return not any(
            (row["what"], row["seed"], row["about"]["commit"]) == (what, seed, made["commit"])
            for row in _read(folder).get(part, [])
        )

    made, start = _about(), time.perf_counter()
    for row in importlib.import_module(PARTS[part]).rows(seed, wanted):
        assert isinstance(row, Row)
        end = time.perf_counter()
        failures = [re.sub(r"(?<![\w.])/(?:[^\s'\":/]+/)+", "…/", failure) for failure in row.failures]
        kept = {
            **asdict(row),
            "failures": failures,
            "seed": seed,
            "seconds": round(end - start, 1),
            "about": made,
        }
        start = end
        _publish(folder, part, [*(one for one in _read(folder).get(part, []) if one["what"] != row.what), kept])
        print(f"{part}: {row.what}: {row.tries:,} tries, {len(row.failures)} failures", flush=True)
        for failure in failures:
            print(f"  FAILED {failure}", flush=True)
    _publish(folder, part, [row for what in asked for row in _read(folder).get(part, []) if row["what"] == what])


def _about() -> dict[str, Any]:
    return about("gymposium", "gymposium-agents", "gymposium-train", "open_spiel", "torch")


def _read(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each part so far."""
    file = folder / "robustness.json"
    return json.loads(file.read_text(encoding="utf-8"))["parts"] if file.exists() else {}


def _publish(folder: Path, part: str, rows: list[dict[str, Any]]) -> None:
    """Write the table with the results of all parts that have any, with these rows for one."""
    found = _read(folder) | {part: rows}
    parts = {name: found[name] for name in PARTS if name in found}
    every = [row for rows in parts.values() for row in rows]
    lines = [[f"{row['part']}: {row['what']}", f"{row['tries']:,}", f"{len(row['failures']):,}"] for row in every]
    failed = [failure for row in every for failure in row["failures"]]
    end = "".join(f"\n- {failure}" for failure in failed)
    made = "".join(f"- {name}: {_made(rows)}\n" for name, rows in parts.items() if rows)
    text = table(["attack", "tries", "failures"], lines) + f"\n{len(failed)} failures.\n{end}\n\n{made}"
    write(folder, "robustness", {"about": _about(), "parts": parts}, text, quiet=True)


def _made(rows: list[dict[str, Any]]) -> str:
    """Return the dates, commits and durations of rows."""
    dates = sorted({row["about"]["date"] for row in rows})
    commits = sorted({row["about"]["commit"] or "unknown" for row in rows})
    return f"{' and '.join(dates)}, commit {', '.join(commits)}, {sum(row['seconds'] for row in rows):,.0f} s"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.robustness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything that is drawn (default: 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    unknown = sorted({*given.parts} - {*PARTS})
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    parts = given.parts or [*PARTS]
    for part in parts:
        if len(parts) == 1:
            run_part(part, given.seed, given.out)
        else:  # in its own process, because the peak memory of a program counts that of the process that starts it
            options = ["--seed", str(given.seed), "--out", str(given.out)]
            subprocess.run([sys.executable, "-m", "benchmarks.robustness", part, *options], check=False)
    failures = sum(len(row["failures"]) for part in parts for row in _read(given.out).get(part, []))
    print(f"{failures} failures. Written: {given.out / 'robustness.json'}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
