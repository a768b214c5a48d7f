"""Plant defects in the code one by one, and check that the tests of the same area catch each.

`mutations.toml` lists the defects: a file, a piece of one of its lines, the text that replaces it, and the tests of the
area. Each defect is planted in a copy of the working tree, in which only these tests run. Survivors are named. The exit
status is 1 if fewer than 38 of the 40 defects are caught, or if a line is no longer in its file: then correct the list.

    python -m benchmarks.mutations                      # all defects, at most half an hour of CPU time
    python -m benchmarks.mutations --area credit        # the defects of one area
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.report import RESULTS, about, table, write

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".toml")
MAY_SURVIVE = 2
SECONDS = 300
"""Limit on a test run. A mutation whose run takes longer counts as caught, as it made a test wait for ever."""


class BadList(Exception):
    """Error for an entry of the list that cannot be planted."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One planted defect."""

    area: str
    file: str
    old: str
    """A piece of exactly one line of the file."""
    new: str
    tests: tuple[str, ...]
    """Test files or folders of the area."""

    def plant(self, text: str) -> str:
        """Plant the defect in the file's text, and return it. Raises `BadList` unless the line occurs exactly once."""
        if (count := text.count(self.old)) != 1:
            raise BadList(f"{self.file} has {self.old!r} {count} times, not once; correct {LIST.name}.")
        return text.replace(self.old, self.new)


def read_list() -> list[Mutation]:
    """Return all mutations. Raises `BadList` if the file, line or tests of one are missing."""
    mutations = []
    for area in tomllib.loads(LIST.read_text(encoding="utf-8"))["area"]:
        for entry in area["mutations"]:
            mutation = Mutation(area["name"], entry["file"], entry["old"], entry["new"], tuple(area["tests"]))
            for path in (mutation.file, *mutation.tests):
                if not (ROOT / path).exists():
                    raise BadList(f"{path} of the area {mutation.area} does not exist; correct {LIST.name}.")
            mutation.plant((ROOT / mutation.file).read_text(encoding="utf-8"))
            mutations.append(mutation)
    return mutations


def copy_tree(folder: Path) -> Path:
    """Copy the working tree, except files that git ignores, into a folder, and return the folder."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return folder


def run_tests(folder: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Run these tests in a copy of the tree. Returns whether they pass, and the end of the output. Exits if they
    cannot run."""
    sources = [*folder.glob("packages/*/src"), *folder.glob("plugins/*/src")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "PYTHONDONTWRITEBYTECODE": "1",  # otherwise an older mutation of the same size and second could run
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False, f"no end within {SECONDS} seconds"
    said = done.stdout.strip().splitlines()[-8:]
    if done.returncode not in (0, 1, 2):  # 2: the mutated module cannot be imported
        sys.exit(f"pytest {' '.join(tests)} ended with status {done.returncode}:\n" + "\n".join(said) + done.stderr)
    return done.returncode == 0, "\n".join(said)


def try_out(mutation: Mutation, copies: SimpleQueue[Path]) -> bool:
    """Plant a defect in a free copy, run the tests of its area, and remove it. Return whether it was caught."""
    folder = copies.get()
    file = folder / mutation.file
    text = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutation.plant(text), encoding="utf-8")
        passed, _ = run_tests(folder, mutation.tests)
    finally:
        file.write_text(text, encoding="utf-8")
        copies.put(folder)
    return not passed


def check_loaded(folder: Path) -> None:
    """Exit if the tests of a copy would import other code than the copy's."""
    program = "import gymposium, gymposium_train; print(gymposium.__file__, gymposium_train.__file__)"
    sources = os.pathsep.join(map(str, folder.glob("packages/*/src")))
    command, environment = [sys.executable, "-c", program], {**os.environ, "PYTHONPATH": sources}
    said = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True).stdout
    if not all(Path(file).resolve().is_relative_to(folder.resolve()) for file in said.split()):
        sys.exit(f"Tests of the copy in {folder} would run other code: {said.strip()}")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--area", action="append", metavar="NAME", help="try only the mutations of this area; may be repeated"
    )
    parser.add_argument("--check", action="store_true", help="only check that every line of the list is in its file")
    parser.add_argument("--jobs", type=int, default=2, help="mutations tried at once (default: 2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    options = parser.parse_args()
    try:
        listed = read_list()
    except BadList as error:
        sys.exit(str(error))
    areas = list(dict.fromkeys(mutation.area for mutation in listed))
    if unknown := set(options.area or ()) - set(areas):
        parser.error(f"no such area: {', '.join(sorted(unknown))}. There are {', '.join(areas)}.")
    mutations = [mutation for mutation in listed if mutation.area in (options.area or areas)]
    if options.check:
        print(f"All {len(mutations)} lines are in their files.")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as scratch, Progress(*columns, console=Console(stderr=True)) as bar:
        folders = [copy_tree(Path(scratch) / str(number)) for number in range(options.jobs)]
        check_loaded(folders[0])
        tests = tuple(dict.fromkeys(path for mutation in mutations for path in mutation.tests))
        task = bar.add_task("tests without a mutation", total=None)
        passed, said = run_tests(folders[0], tests)
        if not passed:
            sys.exit(f"The tests fail without any mutation:\n{said}")
        bar.update(task, description="mutations", total=len(mutations))
        for folder in folders:
            copies.put(folder)

        def try_one(mutation: Mutation) -> bool:
            caught = try_out(mutation, copies)
            bar.advance(task)
            return caught

        with ThreadPoolExecutor(options.jobs) as pool:
            caught = dict(zip(mutations, pool.map(try_one, mutations), strict=True))
    survivors = [mutation for mutation in mutations if not caught[mutation]]
    data = {
        "about": about("gymposium", "pytest"),
        "mutations": [
            {"area": m.area, "file": m.file, "old": m.old, "new": m.new, "caught": caught[m]} for m in mutations
        ],
    }
    rows = []
    for area in dict.fromkeys(mutation.area for mutation in mutations):
        verdicts = [caught[mutation] for mutation in mutations if mutation.area == area]
        rows.append([area, str(len(verdicts)), str(sum(verdicts))])
    named = "".join(f"- {m.file}: `{m.old}` became `{m.new}`\n" for m in survivors)
    enough = len(survivors) <= MAY_SURVIVE
    verdict = f"{len(mutations) - len(survivors)} of {len(mutations)} caught by the tests of their own area. "
    verdict += f"At most {MAY_SURVIVE} may survive{'' if enough else ': TOO MANY SURVIVED'}.\n"
    if named:
        verdict += f"\nSurvivors:\n\n{named}"
    write(options.out, "mutations", data, f"{table(['area', 'planted', 'caught'], rows)}\n{verdict}")
    sys.exit(not enough)


if __name__ == "__main__":
    main()
