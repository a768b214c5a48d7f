"""The runs below a directory, each read on as it grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gymposium.runs.curves import Curves
from gymposium.runs.run import Run, find_runs, linked_runs
from gymposium.runs.samples import SamplesIndex


@dataclass(slots=True)
class Opened:
    """A run with what was read of its growing files."""

    run: Run
    curves: Curves
    samples: SamplesIndex

    @classmethod
    def of(cls, run: Run) -> Opened:
        return cls(run, Curves(run.metrics), SamplesIndex(run.samples))

    def refresh(self) -> Opened:
        """Read what was added since the last time."""
        self.curves.refresh()
        self.samples.refresh()
        return self


@dataclass(slots=True)
class Library:
    """All of them, by name."""

    directory: Path
    linked: dict[str, Path] = field(default_factory=dict)
    """Runs that are not read, since this link of theirs leads out of the directory."""
    _opened: dict[str, Opened] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Look again which runs there are."""
        if self.directory.is_dir():
            found = find_runs(self.directory)
            self._opened = {name: self._opened.get(name) or Opened.of(run) for name, run in found.items()}
            self.linked = linked_runs(self.directory)

    def names(self) -> list[str]:
        """Of all runs that were there when somebody looked last."""
        return [*self._opened]

    def open(self, name: str) -> Opened | None:
        """The run of this name, as far as it is now; None where there is none. Nothing but a name that was found is
        ever a path."""
        opened = self._opened.get(name)
        if opened is None or opened.run.outside(self.directory) is not None:
            self.look()
            opened = self._opened.get(name)
        return None if opened is None else opened.refresh()
