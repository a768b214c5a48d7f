"""Play boards on several executors: equal whatever fails, and what a Ray cluster costs.

Parts:
  faults  boards of local workers and of a Ray cluster of two nodes on this machine, compared byte for byte while
          workers, actors, nodes, players and the driver fail
  cost    CPU time of all processes on the cluster beside local ones, and of the driver for each match

Needs `gymposium-ray` and psutil: tox -e ray makes such an environment. Rows of `faults` are written as they are done; a
finished row is not played again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.executors import cost, faults
from benchmarks.report import RESULTS, about, table, write
from gymposium.plugins.host import host


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.executors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=["faults", "cost"], metavar="PART")
    parser.add_argument("--seeds", type=int, default=20, help="number of boards for each fault (20)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    file = given.out / "executors.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def keep() -> None:
        found["about"] = about("gymposium", "gymposium-ray", "ray")
        write(given.out, "executors", found, format_text(found), quiet=True)

    host().load_file(faults.PLUGIN)
    with faults.two_nodes() as nodes:
        if "faults" in given.parts:
            rows = found.setdefault("faults", [])
            for fault in faults.FAULTS:
                for seed in range(1, given.seeds + 1):
                    if not any((row["fault"], row["seed"]) == (fault, seed) for row in rows):
                        rows.append({"fault": fault, "seed": seed, **_compared(nodes, fault, seed)})
                        print(rows[-1], flush=True)
                        keep()
        if "cost" in given.parts:
            found["cost"], found["driver"] = cost.measured(nodes), cost.driver(nodes)
            keep()
    keep()
    print(format_text(found))


def _compared(nodes: faults.Nodes, fault: str, seed: int) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        local, ray = (faults.new_board(Path(folder, name), seed, fault) for name in ("local", "ray"))
        faults.play_locally(local, 1 + seed % 4)
        ended = faults.play_on_ray(ray, nodes, fault, seed)
        return {
            "complete": ended.complete,
            "matches": ended.planned,
            "equal": faults.content(local) == faults.content(ray),
        }


def format_text(found: dict[str, Any]) -> str:
    """Return the tables of all parts that were measured."""
    text = ""
    if rows := found.get("faults"):
        text += "## Boards of a Ray cluster beside those of local workers\n\n"
        lines = []
        for fault in dict.fromkeys(row["fault"] for row in rows):
            mine = [row for row in rows if row["fault"] == fault]
            equal = sum(row["equal"] and row["complete"] for row in mine)
            lines.append([fault, str(len(mine)), str(mine[0]["matches"]), f"{equal} of {len(mine)}"])
        text += table(["what fails", "boards", "matches each", "complete and equal to the byte"], lines) + "\n"
    if rows := found.get("cost"):
        text += "## CPU time of all processes\n\n"
        text += table(list(rows[0]), [[f"{value:.4g}" for value in row.values()] for row in rows]) + "\n"
    if "driver" in found:
        text += "## CPU time of the driver\n\n"
        text += table(["figure", "value"], [[name, f"{value:.3g}"] for name, value in found["driver"].items()]) + "\n"
    return text


if __name__ == "__main__":
    main()
