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

A part's results are written as soon as the part is done, and replace those of an earlier run of the same part. The exit
status is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import importlib
import json
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


def run_part(part: str, seed: int) -> dict[str, Any]:
    """Run one part; its rows as JSON values, with the command and the versions."""
    start, rows = time.perf_counter(), []
    for row in importlib.import_module(PARTS[part]).rows(seed):
        assert isinstance(row, Row)
        rows.append(asdict(row))
        print(f"{part}: {row.what}: {row.tries:,} tries, {len(row.failures)} failures", flush=True)
        for failure in row.failures:
            print(f"  FAILED {failure}", flush=True)
    versions = about("gymposium", "gymposium-agents", "gymposium-train", "open_spiel", "torch")
    return {"about": versions, "seed": seed, "seconds": round(time.perf_counter() - start), "rows": rows}


def publish(folder: Path, parts: dict[str, Any]) -> None:
    """Write the table with the results of all parts that have any."""
    rows = [
        [f"{row['part']}: {row['what']}", f"{row['tries']:,}", f"{len(row['failures']):,}"]
        for part in PARTS
        for row in parts.get(part, {"rows": []})["rows"]
    ]
    failed = [failure for part in parts.values() for row in part["rows"] for failure in row["failures"]]
    end = "".join(f"\n- {failure}" for failure in failed)
    commands = "".join(
        f"- {part}: `{found['about']['command']}`, {found['about']['date']}, {found['seconds']:,} s\n"
        for part, found in parts.items()
    )
    text = table(["attack", "tries", "failures"], rows) + f"\n{len(failed)} failures.\n{end}\n\n{commands}"
    data = {"about": about("gymposium", "gymposium-agents", "gymposium-train", "open_spiel", "torch"), "parts": parts}
    write(folder, "robustness", data, text, quiet=True)


def main() -> None:
    """The command."""
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
    file = given.out / "robustness.json"
    parts = json.loads(file.read_text(encoding="utf-8"))["parts"] if file.exists() else {}
    failures = 0
    for part in given.parts or PARTS:
        parts[part] = run_part(part, given.seed)
        failures += sum(len(row["failures"]) for row in parts[part]["rows"])
        publish(given.out, {name: parts[name] for name in PARTS if name in parts})
    print(f"{failures} failures. Written: {file}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
