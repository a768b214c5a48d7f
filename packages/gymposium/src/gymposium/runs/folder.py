"""The folder of a run: what a command was told to do, and all that came of it.

    gymposium-runs/2026-11-23-run-1/settings.json
    gymposium-runs/2026-11-23-run-1/matches.jsonl
    gymposium-runs/2026-11-23-run-1/matches.manifest.json

Training runs have such a folder too, with files of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from gymposium.driver import MatchResult
from gymposium.durable import replace_text, replaced
from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.records import Record, RecordWriter
from gymposium.records.manifest import Manifest, digest_of, manifest_of
from gymposium.seating import MatchPlan
from gymposium.writable import check_writable

RUNS = Path("gymposium-runs")
"""Where the folders of runs are made whose place nobody named."""
FORMAT: Final = "gymposium-run-1"


def new_folder(command: str) -> Path:
    """Make the folder of a new run of a command: `gymposium-runs/2026-11-23-run-1`. Two processes never get the same.

    Raises `BadOption` where none can be made."""
    check_writable("--out", RUNS)
    RUNS.mkdir(exist_ok=True)
    beginning = f"{datetime.now(UTC):%Y-%m-%d}-{command}-"
    taken = [path.name.removeprefix(beginning) for path in RUNS.glob(f"{beginning}*")]
    number = max((int(one) for one in taken if one.isdecimal()), default=0) + 1
    while True:
        path = RUNS / f"{beginning}{number}"
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def check_new(path: Path | None) -> None:
    """Raises `BadOption` where a new run cannot be put into `path`, which must be an empty folder or one that can be
    made; without a path, where no folder can be made for it."""
    check_writable("--out", path or RUNS)
    if path is not None and path.exists() and (not path.is_dir() or _holds_something(path)):
        raise BadOption(
            f"--out {path} is not empty. Name another folder, or go on with the run in it:  --resume {path}"
        )


def _holds_something(path: Path) -> bool:
    """Whether there is more than what a killed process left of a file that it was about to write."""
    return any(not one.name.endswith(".partial") for one in path.iterdir())


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run of a command that plays matches."""

    path: Path
    command: str
    settings: Mapping[str, Any]
    """What it was told to do."""
    is_new: bool = False
    """Whether this process made the folder; one that goes on did not."""

    @classmethod
    def create(cls, path: Path | None, command: str, settings: Mapping[str, Any]) -> RunFolder:
        """Make the folder: `path`, which must be empty or not there yet, or one of `new_folder`.

        Raises `BadOption` where it cannot be made, or is in use."""
        check_new(path)
        path = path or new_folder(command)
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path, command, settings, is_new=True)
        made.write_settings()
        return made

    def write_settings(self) -> None:
        """Write the settings down, whole or not at all."""
        data = {"format": FORMAT, "command": self.command, "settings": self.settings}
        replace_text(self.path / "settings.json", json.dumps(data, indent=2) + "\n")

    @classmethod
    def open(cls, path: Path, command: str) -> RunFolder:
        """The folder of a run that goes on.

        Raises `BadOption` where there is no run of this command."""
        file = path / "settings.json"
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadOption(f"--resume {path}: there is no run of gymposium {command} (no {file}).") from None
        except (OSError, ValueError, RecursionError) as error:
            raise BadOption(f"--resume {path}: {file} cannot be read ({error}).") from error
        whole = isinstance(found, dict) and isinstance(found.get("settings"), dict)
        if not whole or found.get("format") != FORMAT:
            raise BadOption(f"--resume {path}: {file} holds no settings of format {FORMAT!r}.")
        if found.get("command") != command:
            raise BadOption(f"--resume {path}: this is a run of another command:  gymposium {found.get('command')}")
        return cls(check_writable("--resume", path), command, found["settings"])

    @property
    def matches(self) -> Path:
        """The file of its matches."""
        return self.path / "matches.jsonl"

    @contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Remove a new folder if an error of ours ends the block before anything is recorded."""
        try:
            yield
        except GymposiumError:
            if self.is_new and not (self.matches.exists() and self.matches.stat().st_size):
                for file in (self.matches, manifest_of(self.matches), self.path / "settings.json"):
                    file.unlink(missing_ok=True)
                self.path.rmdir()
            raise


class RunMatches:
    """The matches of a run, each in the file as soon as it is over, and in the end in the order in which they were
    planned. One that broke off is played again and stays in the file."""

    def __init__(self, file: Path, plan: MatchPlan) -> None:
        """Writes the manifest of the file, which holds `plan`.

        Raises `BadOption` where the file holds something else, or another process writes it."""
        self._writer = RecordWriter(file)
        self._plan, self._planned = plan, plan.numbers()
        self._lines: list[tuple[int, int, int]] = []
        """The place of each line's match, where the line begins, and its length."""
        self._size = 0
        self.finished: set[str] = set()
        """Ids of the matches that have come to an end."""
        try:
            self._read()
            Manifest(plan).write(file)
        except BaseException:
            self._writer.close()
            raise

    @property
    def file(self) -> Path:
        return self._writer.path

    def _read(self) -> None:
        with open(self.file, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    record = Record.parse(line.decode("utf-8", "replace"))
                except BadRecord as error:
                    raise BadOption(
                        f"{self.file}:{number} is no record of this run ({error}). Remove that line, and its match is "
                        f"played again."
                    ) from error
                if record.id not in self._planned:
                    raise BadOption(f"{self.file}:{number} is a match of another run, {record.id}. Remove that line.")
                self._add(record, len(line))

    def _add(self, record: Record, length: int) -> None:
        self._lines.append((self._planned[record.id], self._size, length))
        self._size += length
        if not record.ending.broke_off:
            self.finished.add(record.id)

    def write(self, played: MatchResult) -> None:
        """Append a match that is over, or broke off."""
        record = self._writer.write(played)
        self._add(record, self._writer.size - self._size)

    def told(self, where: Path) -> str | None:
        """How much of the run is recorded, in words; None where nothing is."""
        found = f"{len(self.finished)} of {len(self._planned)} matches are recorded in {where}."
        return found if self._lines else None

    def in_order(self) -> Iterator[Record]:
        """Put the file in the order in which the matches were planned, write its digest into the manifest if none is
        missing, and give the matches that came to an end. Nothing can be written after that."""
        self._sort()
        if len(self.finished) == len(self._planned):
            Manifest(self._plan, digest_of(self.file)).write(self.file)
        with open(self.file, encoding="utf-8") as file:
            for line in file:
                record = Record.parse(line)
                if not record.ending.broke_off:
                    yield record

    def _sort(self) -> None:
        """The file is written anew, if it must be: killed meanwhile, it is as it was."""
        ordered = sorted(self._lines)
        if ordered == self._lines:
            return
        with replaced(self.file) as staging, open(self.file, "rb") as old, open(staging, "wb") as new:
            for _, start, length in ordered:
                old.seek(start)
                new.write(old.read(length))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
