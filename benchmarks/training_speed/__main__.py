"""How fast training is, as ratios inside one run: one thread, CPU time, the sides taking turns, medians and ranges.

step      a GRPO step of 64 games of tic-tac-toe with about a million parameters, against the floor and TRL
main-job  generation, update and imitation of the default run, against the same in bare PyTorch
memory    what an update needs at its peak, by vocabulary and length of prompt
long      rows of up to 16k tokens: time and memory beside TRL, and how they grow
estimates the memory that a dry run estimates, against that of updates

Without a name: all.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import torch

from benchmarks.report import RESULTS, write

TABLES = {"step": "step", "main-job": "main_job", "memory": "memory", "long": "long", "estimates": "estimates"}
"""The module of each table, which is imported for that table alone: they take seconds."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training_speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--repeats", type=int, default=5, help="times that each side is measured (default: 5)")
    parser.add_argument("--tiny", action="store_true", help="all as small as can be, to see that it runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    wanted = given.tables or [*TABLES]
    if strange := set(wanted) - TABLES.keys():
        parser.error(f"There is no table {', '.join(sorted(strange))}; there are {', '.join(TABLES)}.")
    from transformers.utils import logging as transformers_logging

    from benchmarks.training_speed.scale import Scale

    torch.set_num_threads(1)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    for name in wanted:
        data, text = import_module(f"benchmarks.training_speed.{TABLES[name]}").measure(
            Scale(given.repeats, given.tiny)
        )
        write(given.out, f"training_speed-{name}", data, text)


if __name__ == "__main__":
    main()
