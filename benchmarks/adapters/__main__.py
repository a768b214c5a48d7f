"""What adapters to other libraries cost, as ratios inside one run: one thread, CPU time, the sides taking turns.

inspect  solver and scorer of gymposium-inspect, against an eval that only asks the model as often (tox -e inspect)
trl      a step of TRL's GRPOTrainer with gymposium's Rollout, against one with a rollout_func written by hand
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.report import RESULTS, write

PARTS = {"inspect": "benchmarks.adapters.inspect", "trl": "benchmarks.adapters.trl"}
"""The module of each part, which is imported for that part alone, since the libraries of several may not be installed
together. Its `measure(repeats, tiny)` returns the data and the text of the result."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adapters", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=7, help="times that each side is measured (default: 7)")
    parser.add_argument("--tiny", action="store_true", help="all as small as can be, to see that it runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    for part in given.parts:
        data, text = import_module(PARTS[part]).measure(given.repeats, given.tiny)
        write(given.out, f"adapters-{part}", data, text)


if __name__ == "__main__":
    main()
