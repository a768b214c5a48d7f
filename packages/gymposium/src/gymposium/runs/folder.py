"""Run folders of commands that play matches. They hold the settings, the matches and their manifest.

    gymposium-runs/2026-11-23-run-1/settings.json
    gymposium-runs/2026-11-23-run-1/matches.jsonl
    gymposium-runs/2026-11-23-run-1/matches.manifest.json

Training runs also have such a folder, with more files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

from gymposium.errors import BadOption, BadRecord, GymposiumError, describe_cause
from gymposium.match import MatchResult
from gymposium.match.seating import MatchPlan
from gymposium.records import OrderedWriter, Record, RecordLine
from gymposium.records.manifest import Manifest, compute_digest, get_manifest_path
from gymposium.runs.links import check_contained
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_lines, read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import quantity
from gymposium.util.writable import check_writable

RUNS = Path("gymposium-runs")
"""Default parent directory for run folders."""
FORMAT: Final = "gymposium-run-1"


def create_run_folder(command: str) -> Path:
    """Create a folder for a command's new run, such as `gymposium-runs/2026-11-23-run-1`.

    Concurrent processes never get the same folder. Raises `BadOption` if the folder cannot be created."""
    check_writable("--out", RUNS)
    RUNS.mkdir(exist_ok=True)
    prefix = f"{datetime.now(UTC):%Y-%m-%d}-{command}-"
    taken = [path.name.removeprefix(prefix) for path in RUNS.glob(f"{prefix}*")]
    numbers = count(max((int(suffix) for suffix in taken if suffix.isdecimal()), default=0) + 1)
    while True:
        path = RUNS / f"{prefix}{next(numbers)}"
        with suppress(FileExistsError):  # another process has just made it
            path.mkdir()
            return path


def check_run_path(path: Path | None) -> None:
    """Raise `BadOption` unless `path` can hold a new run: it must be an empty folder or a path that can be created.

    None stands for a folder from `create_run_folder`."""
    check_writable("--out", path or RUNS)
    if path is None or not path.exists():
        return
    if not path.is_dir():
        raise BadOption(f"--out {path} is not a folder. Name a new or empty folder.")
    # a killed process may leave a *.partial file
    if any(not entry.name.endswith(".partial") for entry in path.iterdir()):
        raise BadOption(f"--out {path} is not empty. Name another folder, or resume the run in it:  --resume {path}")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run of a command that plays matches."""

    path: Path
    command: str
    settings: Mapping[str, Any]
    """The settings of the command."""
    is_new: bool = False
    """True if this process created the folder; False for a resumed run."""

    @classmethod
    def create(cls, path: Path | None, command: str, settings: Mapping[str, Any]) -> RunFolder:
        """Create the folder and write the settings.

        `path` must be empty or not exist. None stands for a folder from `create_run_folder`. Raises `BadOption` if the
        folder cannot be created or is not empty."""
        check_run_path(path)
        path = path or create_run_folder(command)
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path, command, settings, is_new=True)
        made.write_settings()
        return made

    def write_settings(self) -> None:
        """Write the settings to their file atomically."""
        data = {"format": FORMAT, "command": self.command, "settings": self.settings}
        replace_text(self.path / "settings.json", json.dumps(data, indent=2) + "\n")

    @classmethod
    def open(cls, path: Path, command: str) -> RunFolder:
        """Open the folder of a run to resume.

        Raises `BadOption` if the folder is not a run of this command, or if a link in it leads outside."""
        file = path / "settings.json"
        try:
            data = parse_strict_json(read_plain_text(file))
        except FileNotFoundError:
            raise BadOption(
                f"--resume {path}: not a run of gymposium {command} ({file} is missing). Name a run's folder."
            ) from None
        except (OSError, ValueError) as error:
            raise BadOption(
                f"--resume {path}: {file} cannot be read ({describe_cause(error)}). Restore it from a copy, or "
                f"start a new run."
            ) from error
        match data:
            case {"format": format, "settings": dict(settings)} if format == FORMAT:
                if data.get("command") != command:
                    raise BadOption(
                        f"--resume {path}: this is a run of another command, {data.get('command')}. Resume it with "
                        "that command."
                    )
                check_contained(path)
                return cls(check_writable("--resume", path), command, settings)
        raise BadOption(f"--resume {path}: {file} has no settings in format {FORMAT!r}. Start a new run.")

    @property
    def matches(self) -> Path:
        """Path of the run's match file."""
        return self.path / "matches.jsonl"

    @contextmanager
    def open_matches(self, plan: MatchPlan, count: Callable[[int, Record], object]) -> Iterator[RunMatches]:
        """Open the run's match file.

        If a `GymposiumError` ends the block before a match is recorded, a newly created folder is removed."""
        try:
            with RunMatches(self.matches, plan, count) as matches:
                yield matches
        except GymposiumError:
            if self.is_new and not (self.matches.exists() and self.matches.stat().st_size):
                for file in (self.matches, get_manifest_path(self.matches), self.path / "settings.json"):
                    file.unlink(missing_ok=True)
                self.path.rmdir()
            raise


class PlanOrder:
    """A buffer that passes on records in plan order, for runs without a file.

    This makes figures independent of the order of endings."""

    def __init__(self, numbers: Mapping[str, int], count: Callable[[int, Record], object]) -> None:
        """`numbers` are the plan's match numbers.

        `count` is called with each finished match and its number, in order."""
        self._numbers, self._count = numbers, count
        self._held: dict[int, Record | None] = {}
        """Records that wait for earlier matches. None stands for a match that broke off."""
        self._next = 0
        self.finished: set[str] = set()
        """Ids of the finished matches."""

    def write(self, played: MatchResult) -> None:
        """Add the record of a match that ended or broke off."""
        self.add(Record.from_match(played))

    def append(self, lines: Sequence[RecordLine]) -> None:
        """Add records of matches that an executor played."""
        for line in lines:
            self.add(Record.parse(line.text))

    def add(self, record: Record) -> None:
        """Add a match's record, and pass on all records that are next in the plan."""
        broke_off = record.ending.broke_off
        self._held[self._numbers[record.id]] = None if broke_off else record
        if not broke_off:
            self.finished.add(record.id)
        while self._next in self._held:
            self._emit(self._next)
            self._next += 1

    def finish(self) -> None:
        """Pass on the remaining records, although earlier matches are missing."""
        for number in sorted(self._held):
            self._emit(number)

    def _emit(self, number: int) -> None:
        if (record := self._held.pop(number)) is not None:
            self._count(number, record)


class RunMatches(OrderedWriter):
    """A run's match file. Matches are appended as they end, and finally sorted in plan order.

    The record of a match that broke off stays in the file, and the match is played again."""

    def __init__(
        self, file: Path, plan: MatchPlan, count: Callable[[int, Record], object] = lambda number, record: None
    ) -> None:
        """Open the file and write its manifest with `plan`.

        `count` is called with each finished match, as in `PlanOrder`.

        Raises `BadOption` if the file has content other than the plan's matches, or if another process is writing
        it."""
        super().__init__(file, plan.numbers())
        self._plan, self._order = plan, PlanOrder(self._numbers, count)
        try:
            self._read()
            Manifest(plan).write(file)
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        start = 0
        for number, line in enumerate(read_lines(self.path), start=1):
            try:
                record = Record.parse(line.decode("utf-8", "replace"))
            except BadRecord as error:
                raise BadOption(
                    f"{self.path}:{number} is not a record of this run ({error}). Remove that line to replay its match."
                ) from error
            if record.id not in self._numbers:
                raise BadOption(f"{self.path}:{number} is a match from another run, {record.id}. Remove that line.")
            self._add_line(self._numbers[record.id], start, len(line))
            start += len(line)
            if not record.ending.broke_off:  # else it is replayed
                self._order.add(record)
                self.finished.add(record.id)

    def write(self, played: MatchResult) -> None:
        """Append the record of a match that ended or broke off."""
        record = Record.from_match(played)
        super().append([RecordLine.from_record(record)])
        self._order.add(record)

    def append(self, lines: Sequence[RecordLine]) -> None:
        """Append records of matches that an executor played."""
        super().append(lines)
        self._order.append(lines)

    def describe_progress(self, where: Path) -> str | None:
        """Return a sentence that says how many matches are recorded in `where`, or None before the first."""
        recorded = (
            f"{len(self.finished)} of {quantity(len(self._numbers), 'match is', 'matches are')} recorded in {where}."
        )
        return recorded if self._lines else None

    def finish(self) -> None:
        """Count all matches, sort the file in plan order, and complete the manifest if no match is missing.

        Nothing can be written afterwards."""
        self._order.finish()
        self.sort()
        if len(self.finished) == len(self._numbers):
            Manifest(self._plan, compute_digest(self.path)).write(self.path)
