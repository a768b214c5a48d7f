"""Measure what gymposium's adapters cost inside other libraries, each beside the library's own work.

Parts:
  inspect  CPU time of the solver and scorers of gymposium-inspect, beside an eval that asks the model as often; in the
           environment of `tox -e inspect`
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.report import RESULTS

PARTS = {"inspect": "benchmarks.adapters.inspect"}
"""The module of each part, whose `main` writes its result to a folder and returns whether the target was reached. Each
needs a library that the others do without."""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.adapters", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=[*PARTS], metavar="PART")
    parser.add_argument("--repeats", type=int, default=5, help="number of times that both sides run, by turns (5)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    reached = [import_module(PARTS[part]).main(given.out, given.repeats) for part in given.parts]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    raise SystemExit(main())
