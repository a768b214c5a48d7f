"""Train sixteen tiny configs with two versions of the code, and compare metrics and weights to the bit.

    python -m benchmarks.same HEAD~5 .          # a revision against the working tree
    python -m benchmarks.same ../before ../after --cases grpo-ppo-lora two-processes

OLD and NEW are folders or git revisions. Both sides run on this machine with one thread, each in processes of its own
that import from that checkout alone. Every checkout reads its own `benchmarks/same/cases`, so each spells its settings
in its own way; for an OLD without them, --old-cases names a checkout that has them in the spelling of OLD. Times are
not compared. The exit status is 1 if anything differs or a run fails; the first difference of each config is named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.report import RESULTS, about, table, write
from benchmarks.same.checkout import NoCheckout, cases, checkout, sources
from benchmarks.same.compare import Comparison, compare

CHILD = Path(__file__).with_name("child.py")
TWO_PROCESSES = "two-processes"
"""The case that torchrun starts."""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
SIDES = ("OLD", "NEW")
LOG_LINES = 12
"""Lines of a log that are shown when its process failed."""


@dataclass(frozen=True, slots=True)
class Side:
    """One version of the code, and where its runs go."""

    name: str
    checkout: Path
    configs: dict[str, dict[str, Any]]
    work: Path

    def run(self, case: str) -> Path:
        """Return the run directory of a case."""
        return self.work / "runs" / case

    def train(self, step: Callable[[], object]) -> dict[str, dict[str, Any]]:
        """Train all cases and return what is said of each; `step` is called after each."""
        (self.work / "configs").mkdir(parents=True)
        for case, config in self.configs.items():
            self._config(case).write_text(json.dumps(config, indent=2), encoding="utf-8")
        single = [case for case in self.configs if case != TWO_PROCESSES]
        said = self._start((), single, step) if single else {}
        return said | (self._start(TORCHRUN, [TWO_PROCESSES], step) if TWO_PROCESSES in self.configs else {})

    def _config(self, case: str) -> Path:
        return self.work / "configs" / f"{case}.json"

    def _start(
        self, launcher: Sequence[str], names: Sequence[str], step: Callable[[], object]
    ) -> dict[str, dict[str, Any]]:
        """Train cases in one process, or in those that `launcher` starts."""
        command = [sys.executable, *launcher, str(CHILD), str(self.checkout), str(self.work / "runs")]
        command += [str(self._config(case)) for case in names]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, sources(self.checkout))),
            "PYTHONSAFEPATH": "1",
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        said = {}
        log = self.work / f"{names[0]}.log"
        with (
            open(log, "w", encoding="utf-8") as errors,
            subprocess.Popen(
                command, cwd=self.work, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                entry = json.loads(line)
                said[entry.pop("case")] = entry
                step()
        end = "\n".join(log.read_text(encoding="utf-8").splitlines()[-LOG_LINES:])
        for case in names:
            if case not in said:
                said[case] = {"failure": f"the process ended with status {process.returncode}:\n{end}"}
            elif said[case]["failure"]:
                said[case]["failure"] += f"; end of its log:\n{end}"
        return said


def compared(case: str, sides: Sequence[Side], said: Sequence[dict[str, dict[str, Any]]]) -> Comparison:
    """Return how the two runs of a case compare; a run that failed is a difference."""
    failures = [
        f"{side.name} failed: {entries[case]['failure']}"
        for side, entries in zip(sides, said, strict=True)
        if entries[case]["failure"]
    ]
    if failures:
        return Comparison(0, 0, tuple(failures))
    return compare(*(side.run(case) for side in sides))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.same", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", metavar="OLD", help="folder or git revision of the one version")
    parser.add_argument("new", metavar="NEW", help="folder or git revision of the other version")
    parser.add_argument("--old-cases", metavar="CHECKOUT", help="where OLD's cases are read; in OLD by default")
    parser.add_argument("--cases", nargs="+", metavar="NAME", help="only these cases; all by default")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=2, help="sides trained at once (default: 2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            sides = _sides(options, Path(scratch))
        except NoCheckout as error:
            parser.error(str(error))
        comparisons, seconds = _train_and_compare(sides, options.jobs)
    data = {
        "about": about("gymposium", "torch", "transformers", "peft"),
        "cases": {
            case: {"metrics": found.metrics, "tensors": found.tensors, "differences": list(found.differences)}
            for case, found in comparisons.items()
        },
        "cpu_seconds": seconds,
    }
    rows = [
        [f"`{case}`", str(found.metrics), str(found.tensors), str(len(found.differences) or "none")]
        for case, found in comparisons.items()
    ]
    differing = {case: found.differences[0] for case, found in comparisons.items() if found.differences}
    firsts = "".join(f"- `{case}`: {difference}\n" for case, difference in differing.items())
    verdict = f"{len(differing)} of {len(comparisons)} configs differ. The first difference of each:\n\n{firsts}"
    if not differing:
        verdict = f"All {len(comparisons)} configs are equal to the bit.\n"
    write(options.out, "same", data, f"{table(['config', 'metrics', 'tensors', 'differences'], rows)}\n{verdict}")
    sys.exit(bool(differing))


def _sides(options: argparse.Namespace, scratch: Path) -> list[Side]:
    """Both versions with their cases. Raises `NoCheckout` if a name stands for none, or the cases do not match."""
    folders = [checkout(name, scratch / side) for side, name in zip(SIDES, (options.old, options.new), strict=True)]
    spelled = [folders[0] if options.old_cases is None else checkout(options.old_cases, scratch / "cases"), folders[1]]
    configs = [cases(folder) for folder in spelled]
    if configs[0].keys() != configs[1].keys():
        raise NoCheckout(f"OLD and NEW do not have the same cases: {', '.join(configs[0].keys() ^ configs[1].keys())}.")
    chosen = options.cases or list(configs[1])
    if unknown := [case for case in chosen if case not in configs[1]]:
        raise NoCheckout(f"There is no case {', '.join(unknown)}. There are {', '.join(configs[1])}.")
    return [
        Side(side, folder, {case: config[case] for case in chosen}, scratch / f"work-{side}")
        for side, folder, config in zip(SIDES, folders, configs, strict=True)
    ]


def _train_and_compare(sides: Sequence[Side], jobs: int) -> tuple[dict[str, Comparison], dict[str, float]]:
    """Return how the runs of each case compare, and the CPU seconds that each side took."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar, ThreadPoolExecutor(jobs) as pool:
        tasks = [bar.add_task(side.name, total=len(side.configs)) for side in sides]
        training = [
            pool.submit(side.train, partial(bar.advance, task)) for side, task in zip(sides, tasks, strict=True)
        ]
        said = [future.result() for future in training]
    seconds = {
        side.name: round(sum(entry.get("cpu_seconds", 0.0) for entry in entries.values()), 1)
        for side, entries in zip(sides, said, strict=True)
    }
    return {case: compared(case, sides, said) for case in sides[1].configs}, seconds


if __name__ == "__main__":
    main()
