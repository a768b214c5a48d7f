"""The training runs below a folder. They are reread as they grow."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.runs.curves import Curves
from gymposium.runs.run import Run, find_linked_runs, find_runs
from gymposium.runs.samples import SamplesIndex
from gymposium.util.plain_file import read_lines

_ID = re.compile(rb'\{"id":"([^"\\]*)"')


@dataclass(slots=True)
class OpenRun:
    """A run with the data read so far from its growing files."""

    run: Run
    curves: Curves
    samples: SamplesIndex

    def refresh(self) -> OpenRun:
        """Read the data added since the last call."""
        self.curves.refresh()
        self.samples.refresh()
        return self


@dataclass(slots=True)
class RunLibrary:
    """The training runs below a folder, by name."""

    directory: Path
    linked: dict[str, Path] = field(default_factory=dict)
    """Runs that are not read, each with the link that leaves the folder."""
    _opened: dict[str, OpenRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scan()

    def scan(self) -> None:
        """Search the folder again."""
        if self.directory.is_dir():
            self._opened = {
                name: self._opened.get(name) or OpenRun(run, Curves(run.metrics), SamplesIndex(run.samples))
                for name, run in find_runs(self.directory).items()
            }
            self.linked = find_linked_runs(self.directory)

    def names(self) -> list[str]:
        """Return the names of the runs that the last search found."""
        return [*self._opened]

    def open(self, name: str) -> OpenRun | None:
        """Return the run with this name, refreshed, or None if it is unknown."""
        opened = self._opened.get(name)
        if opened is None or opened.run.find_outside_link(self.directory) is not None:
            self.scan()
            opened = self._opened.get(name)
        return None if opened is None else opened.refresh()


def find_line_numbers(file: Path, ids: Collection[str]) -> dict[str, int]:
    """Return the line number, counted from 1, of each match in a record file, by match id.

    For duplicates, the first line counts. Only lines in gymposium's own format are found."""
    missing = {name.encode() for name in ids}
    numbers: dict[str, int] = {}
    with suppress(OSError):  # then the page has no links to matches
        for number, line in enumerate(read_lines(file), start=1):
            if (begin := _ID.match(line)) and begin[1] in missing:
                missing.remove(begin[1])
                numbers[begin[1].decode()] = number
                if not missing:
                    break
    return numbers
