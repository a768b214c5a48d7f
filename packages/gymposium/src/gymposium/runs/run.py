"""Training runs in a directory tree, and their small files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any

from gymposium.records import Problem
from gymposium.runs.links import escapes_directory
from gymposium.util.plain_file import find_form, open_plain, plain_path, read_plain_text
from gymposium.util.strict_json import parse_strict_json

if sys.platform != "win32":
    import fcntl


_LOCKED = "config.json"
"""Name of the file that a run's process locks while it is running. The file is written only once."""


@dataclass(frozen=True, slots=True)
class Run:
    """A training run: its directory, and its name relative to the searched directory."""

    name: str
    path: Path

    @property
    def metrics(self) -> Path:
        """The metrics file, with a line per step."""
        return self.path / "metrics.jsonl"

    @property
    def samples(self) -> Path:
        """The file of sampled groups, kept for people to read."""
        return self.path / "samples.jsonl"

    @property
    def matches(self) -> Path:
        """The records of the matches used for training, compressed or not."""
        return find_form(self.path / "matches" / "train.jsonl")

    @property
    def sessions(self) -> Path:
        """The file with the sessions used for training, if the run is served over HTTP."""
        return self.path / "sessions.sqlite"

    @property
    def finished(self) -> bool:
        """Whether the run has written its report, which is its last file."""
        return (self.path / "report.html").is_file()

    @property
    def running(self) -> bool:
        """Whether a process is working on the run (`mark_running`). Always False on Windows and without file locks."""
        if sys.platform != "win32":
            with suppress(OSError), open_plain(self.path / _LOCKED) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return True
        return False

    def config(self) -> dict[str, Any] | Problem:
        """All settings of the run."""
        return self._read_table("config.json")

    def versions(self) -> dict[str, Any] | Problem:
        """Versions of the libraries that the run used."""
        return self._read_table("versions.json")

    def results(self) -> dict[str, Any] | Problem:
        """The results so far; empty in a new run."""
        return self._read_table("results.json") if (self.path / "results.json").exists() else {}

    def find_outside_link(self, directory: Path) -> Path | None:
        """Return the run's first path that leads out of the directory through a link, or None."""
        small = (self.path / name for name in ("config.json", "versions.json", "results.json", "report.html"))
        beside = (
            self.sessions.with_name(f"{self.sessions.name}{end}") for end in ("-wal", "-shm")
        )  # SQLite reads them
        paths = (self.path, *small, self.metrics, self.samples, self.matches, self.sessions, *beside)
        return next((path for path in paths if escapes_directory(path, directory)), None)

    def _read_table(self, name: str) -> dict[str, Any] | Problem:
        file = self.path / name
        try:
            data = parse_strict_json(read_plain_text(file))
        except (OSError, ValueError) as error:
            return Problem(str(file), f"cannot be read ({error})")
        return data if isinstance(data, dict) else Problem(str(file), "must be a JSON object of settings or results")


@contextmanager
def mark_running(path: Path) -> Iterator[None]:
    """Mark the run in `path` as running during the block, with a lock that ends with the process."""
    with open_plain(path / _LOCKED) as file:
        if sys.platform != "win32":
            with suppress(OSError):  # file system without locks
                fcntl.flock(file, fcntl.LOCK_SH)  # shared: waits only for a process that checks for a running run
        yield


def is_data_file(file: Path) -> bool:
    """Return whether this is another file that gymposium writes next to match records: metrics, samples or `synth`
    chats."""
    name = plain_path(file).name
    if name in ("metrics.jsonl", "samples.jsonl"):
        return is_run(file.parent)
    if name == "data.jsonl":
        with suppress(OSError, ValueError):
            manifest = parse_strict_json(read_plain_text(file.parent / "manifest.json"))
            return isinstance(manifest, dict) and str(manifest.get("format")).startswith("gymposium-synth-")
    return False


def find_runs(directory: Path) -> dict[str, Run]:
    """Return the runs below a directory by relative path, or the directory itself by its name if it is a run.

    Runs are not searched for nested runs. Runs with a symbolic link that leads out of the directory are skipped."""
    return {run.name: run for run in _search_runs(directory) if run.find_outside_link(directory) is None}


def find_linked_runs(directory: Path) -> dict[str, Path]:
    """Return the runs that `find_runs` skips, by name, each with the link that leads outside."""
    links = {run.name: run.find_outside_link(directory) for run in _search_runs(directory)}
    return {name: path for name, path in links.items() if path is not None}


def _search_runs(directory: Path) -> list[Run]:
    if is_run(directory):
        return [Run(Path(realpath(directory)).name, directory)]
    found = []
    for place, below, _ in os.walk(directory):
        below.sort()
        for name in [name for name in below if is_run(Path(place, name))]:
            below.remove(name)
            path = Path(place, name)
            found.append(Run(path.relative_to(directory).as_posix(), path))
    return sorted(found, key=lambda run: run.name)


def is_run(path: Path) -> bool:
    """Return whether a directory is a run. A model directory also has a `config.json`, but no `versions.json`."""
    return all((path / name).is_file() for name in ("config.json", "versions.json"))
