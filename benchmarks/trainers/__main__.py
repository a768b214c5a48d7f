"""The conformance kit of trainers (`gymposium_testing.trainers`), tried out: twelve defects planted in a trainer that
was written by hand, six more planted without seeing the checks, and clean runs, which no check may refuse.

    python -m benchmarks.trainers loop           # defects and clean runs of the loop that was written by hand
    python -m benchmarks.trainers ours
    python -m benchmarks.trainers trl            # in the environment of `tox run -e trl`

Each row is one run of the kit at both levels, with the CPU seconds it took. Rows are kept as soon as they are there, so
the same command goes on after Ctrl-C. `--defects FILE` tries other defects, which it adds to the tables.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

import torch

from benchmarks.report import RESULTS, KeptRows, Row, table
from benchmarks.trainers.planting import Defect, defects, loop_trainer
from gymposium_testing.trainers import RowTrainer, list_trainer_checks, run_trainer_checks

DEFECTS, BLIND = (Path(__file__).with_name(f"{name}.toml") for name in ("defects", "blind"))
NAME = "trainers"
CLEAN_LOOPS, CLEAN_OTHERS = 20, 3
LEAST, LEAST_BLIND, MOST_SECONDS = 11, 4, 600.0
OTHERS = {"ours": "gymposium_train.conformance:SelfPlayTrainer", "trl": "gymposium_trl.conformance:GrpoUnderTest"}
VERSIONS = ("gymposium", "gymposium-train", "gymposium-trl", "numpy", "torch", "transformers", "trl")


def measured(trainer: RowTrainer, seed: int) -> Row:
    """Return one run of the kit."""
    started = time.process_time()
    failed: dict[str, list[str]] = {"a": [], "b": []}
    messages: dict[str, str] = {}
    for outcome in run_trainer_checks(list_trainer_checks(trainer, seed)):
        if outcome.result == "failed":
            failed[outcome.level].append(outcome.check)
            messages[outcome.check] = outcome.message
    return {"failed": failed, "messages": messages, "cpu_seconds": round(time.process_time() - started, 1)}


def run_of_loop(defect: Defect | None, seed: int) -> Row:
    """Return one run on the trainer that was written by hand."""
    with tempfile.TemporaryDirectory() as scratch, loop_trainer(Path(scratch), defect) as trainer:
        return measured(trainer, seed)


def run_trainer(name: str, seed: int) -> Row:
    """Run the kit on a module's trainer."""
    module, _, attribute = name.partition(":")
    return measured(getattr(import_module(module), attribute)(), seed)


def planned(part: str, files: Sequence[Path]) -> list[tuple[Row, Callable[[], Row]]]:
    """Return what is to be run: the facts of each row, and its run. A row names its `defect`, None in a clean run, and
    the check that names it (`named_by`, "" if it was planted blind)."""
    if part in OTHERS:
        clean = partial(run_trainer, OTHERS[part])
        return [({"trainer": part, "seed": seed, "defect": None}, partial(clean, seed)) for seed in range(CLEAN_OTHERS)]
    return [
        *(
            ({"trainer": "loop", "seed": 0, "defect": one.name, "named_by": one.check}, partial(run_of_loop, one, 0))
            for file in files
            for one in defects(file)
        ),
        *(
            ({"trainer": "loop", "seed": seed, "defect": None}, partial(run_of_loop, None, seed))
            for seed in range(CLEAN_LOOPS)
        ),
    ]


def text(rows: Sequence[Row]) -> str:
    """Return the tables and their verdict, as Markdown."""
    planted = [row for row in rows if row.get("named_by")]
    blind = [row for row in rows if row.get("named_by") == ""]
    lines = [
        [
            row["defect"],
            row["named_by"],
            "yes" if row["named_by"] in row["failed"]["b"] else "NO",
            ", ".join(name for name in row["failed"]["b"] if name != row["named_by"]) or "–",
            f"{len(row['failed']['a'])} of 3" if row["failed"]["a"] else "–",
            f"{row['cpu_seconds']:.0f}",
        ]
        for row in planted
    ]
    named = sum(row["named_by"] in row["failed"]["b"] for row in planted)
    alone = [row["defect"] for row in planted if row["failed"]["a"]]
    unknown = [
        [
            row["defect"],
            ", ".join(row["failed"]["b"]) or "–",
            f"{len(row['failed']['a'])} of 3" if row["failed"]["a"] else "–",
        ]
        for row in blind
    ]
    caught = sum(any(row["failed"].values()) for row in blind)
    clean = []
    for trainer in ("loop", *OTHERS):
        of_trainer = [row for row in rows if row["trainer"] == trainer and row["defect"] is None]
        if of_trainer:
            refused = {name for row in of_trainer for names in row["failed"].values() for name in names}
            most = max(row["cpu_seconds"] for row in of_trainer)
            false_alarms = sum(any(row["failed"].values()) for row in of_trainer)
            clean.append(
                [trainer, str(len(of_trainer)), str(false_alarms), ", ".join(sorted(refused)) or "–", f"{most:.0f}"]
            )
    longest = max((row["cpu_seconds"] for row in rows), default=0.0)
    return (
        table(["defect", "check that names it", "named", "also failed", "level (a)", "CPU s"], lines)
        + f"\n{named} of {len(planted)} defects are named ({LEAST} of the first 12 asked). Level (a) alone catches "
        f"{len(alone)}: {', '.join(alone) or 'none'}.\n\n"
        + (
            f"Planted by somebody who had not seen the checks:\n\n{table(['defect', 'failed', 'level (a)'], unknown)}\n"
            f"{caught} of {len(blind)} are caught ({LEAST_BLIND} of 6 asked).\n\n"
            if blind
            else ""
        )
        + table(["clean trainer", "runs", "false alarms", "checks", "CPU s at most"], clean)
        + f"\nlevel (a): trainings that miss the optimum. A run takes {longest:.0f} CPU seconds at most "
        f"({MOST_SECONDS:.0f} asked).\n"
    )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trainers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("loop", *OTHERS), help="the trainer to check")
    parser.add_argument("--defects", type=Path, nargs="+", default=(DEFECTS, BLIND), help="files of defects")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    torch.set_num_threads(1)
    kept = KeptRows(given.out, NAME, VERSIONS, text)
    for facts, run in planned(given.part, given.defects):
        if facts not in kept:
            kept.add({**facts, **run()})
    kept.show()


if __name__ == "__main__":
    main()
