"""The training runs below a directory, which are read further as they grow, and the lines of their matches."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.runs.curves import Curves
from gymposium.runs.run import Run, find_runs, linked_runs
from gymposium.runs.samples import SamplesIndex
from gymposium.util.plain_file import plain_lines

_ID = re.compile(rb'\{"id":"([^"\\]*)"')


@dataclass(slots=True)
class Opened:
    """A run and the contents of its growing files, as far as they have been read."""

    run: Run
    curves: Curves
    samples: SamplesIndex

    def refresh(self) -> Opened:
        """Reads what was added since the last call."""
        self.curves.refresh()
        self.samples.refresh()
        return self


@dataclass(slots=True)
class Library:
    """The training runs below a directory, by name."""

    directory: Path
    linked: dict[str, Path] = field(default_factory=dict)
    """Runs that are not read, each with the link that leads out of the directory."""
    _opened: dict[str, Opened] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Searches the directory again."""
        if self.directory.is_dir():
            self._opened = {
                name: self._opened.get(name) or Opened(run, Curves(run.metrics), SamplesIndex(run.samples))
                for name, run in find_runs(self.directory).items()
            }
            self.linked = linked_runs(self.directory)

    def names(self) -> list[str]:
        """The names of the runs that the last search found."""
        return [*self._opened]

    def open(self, name: str) -> Opened | None:
        """The run of this name, read up to now; None if there is none. Only names found by a search are opened."""
        opened = self._opened.get(name)
        if opened is None or opened.run.outside(self.directory) is not None:
            self.look()
            opened = self._opened.get(name)
        return None if opened is None else opened.refresh()


def lines_of(file: Path, ids: Collection[str]) -> dict[str, int]:
    """The line number of each of these matches in a record file, counted from 1; the first one if a match stands there
    twice. Only the beginning of each line is matched, as gymposium writes it."""
    missing = {name.encode() for name in ids}
    numbers: dict[str, int] = {}
    with suppress(OSError):  # a page without links to matches
        for number, line in enumerate(plain_lines(file), start=1):
            if (begin := _ID.match(line)) and begin[1] in missing:
                missing.remove(begin[1])
                numbers[begin[1].decode()] = number
                if not missing:
                    break
    return numbers
