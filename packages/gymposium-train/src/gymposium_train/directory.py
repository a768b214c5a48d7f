"""The run directory: the truth about a run, and where each thing in it stands."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gymposium.cli.text import finite
from gymposium.durable import MARK, replace_text, replaced, sweep, whole_directory
from gymposium.errors import BadOption
from gymposium.lines import LineWriter
from gymposium.records import Problem, read_records
from gymposium.runs.folder import check_new, new_folder
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import read_config
from gymposium_train.config.writing import as_json
from gymposium_train.progress import say

_VERSIONS = (
    "gymposium",
    "gymposium-agents",
    "gymposium-train",
    "open_spiel",
    "torch",
    "transformers",
    "peft",
    "tokenizers",
    "numpy",
)


class RunDirectory:
    """Where each thing stands:

    `config.json`, `versions.json`: what decides the run. `matches/*.jsonl`: every match. `metrics.jsonl`: what each
    step showed. `samples.jsonl`: rollouts to be looked at. `results.json`: everything measured. `base/`: the small
    model, where one was made. `cold_start/`: the model behind its cold start. `checkpoints/`. `versions/`: past
    versions of the policy. `adapter/`, or `model/` where all weights were trained: the result. `control/`. `dumps/`:
    batches whose gradient was not finite. `report.html`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.json"
        self.versions_file = path / "versions.json"
        self.metrics_file = path / "metrics.jsonl"
        self.samples_file = path / "samples.jsonl"
        self.results_file = path / "results.json"
        self.base = path / "base"
        self.cold_start = path / "cold_start"
        self.checkpoints = path / "checkpoints"
        self.adapter = path / "adapter"
        self.model = path / "model"
        self.control = path / "control"
        self.dumps = path / "dumps"
        self.report = path / "report.html"

    @classmethod
    def create(cls, path: Path | None, config: TrainConfig) -> RunDirectory:
        """A new run, in a new folder of `gymposium-runs` where there is no path. A directory that holds something
        already is refused."""
        check_new(path)
        path = path or new_folder("train")
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path)
        replace_text(run.config_file, as_json(config))  # with it there is a run to resume
        run._note_versions()
        return run

    @classmethod
    def open(cls, path: Path) -> tuple[RunDirectory, TrainConfig]:
        """An existing run and its config."""
        run = cls(path)
        if not run.config_file.is_file():
            raise BadOption(f"{path} is not a run directory (it has no config.json).")
        config = read_config(run.config_file)
        if not run.versions_file.exists():  # the run was killed at its very beginning
            run._note_versions()
        return run, config

    def _note_versions(self) -> None:
        found = {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}}
        write_json(self.versions_file, found)

    def matches(self, stage: str) -> Path:
        return self.path / "matches" / f"{stage}.jsonl"

    def recorded(self, stage: str) -> set[str]:
        """Ids of the matches that an interrupted run has recorded; broken lines are named."""
        found: set[str] = set()
        if self.matches(stage).is_file():
            for _, record in read_records(self.matches(stage)):
                if isinstance(record, Problem):
                    say(f"left as it is: {record}", style="yellow")
                else:
                    found.add(record.id)
        return found

    def results(self) -> dict[str, Any]:
        """Everything measured so far."""
        if not self.results_file.is_file():
            return {}
        found: dict[str, Any] = json.loads(self.results_file.read_text(encoding="utf-8"))
        return found

    def add_results(self, **more: Any) -> None:
        write_json(self.results_file, {**self.results(), **more})

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Append a line to the metrics: `stage`, `step`, and what that step showed."""
        with LineWriter(self.metrics_file, sync=False) as file:
            file.write(json.dumps(finite(metrics), allow_nan=False))

    def forget(self, stage: str, step: int) -> None:
        """Take out what an interrupted run wrote of this stage behind a step: it is done again from there on."""
        _keep_lines(self.metrics_file, lambda line: line["stage"] != stage or line["step"] <= step)
        if stage == "train":
            _keep_lines(self.samples_file, lambda line: line["step"] <= step)

    def metrics(self) -> list[dict[str, Any]]:
        """All metric lines; of a step that was done again after an interruption, the last. A half-written
        line is named and passed over."""
        if not self.metrics_file.is_file():
            return []
        found: dict[tuple[str, int], dict[str, Any]] = {}
        lines = self.metrics_file.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
            except ValueError:
                say(f"left as it is: {self.metrics_file}:{number} is not JSON", style="yellow")
                continue
            found[entry["stage"], entry["step"]] = entry
        return list(found.values())


def is_whole(directory: Path) -> bool:
    """Whether a directory was written to its end."""
    return (directory / MARK).is_file()


@contextmanager
def written_whole(directory: Path) -> Iterator[Path]:
    """A staging directory that becomes `directory` in one rename behind the block. What an interrupted writer left of
    it is removed first."""
    sweep(directory.parent, f"{directory.name}.")
    if directory.exists() and not is_whole(directory):
        shutil.rmtree(directory)
    with whole_directory(directory) as staging:
        yield staging


def write_json(path: Path, data: Any) -> None:
    """Write by rename, so that a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(finite(data), indent=2, allow_nan=False) + "\n")


def _keep_lines(file: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Write a file of lines anew with those that are wanted, and those that nobody can read; without what a killed
    writer left of a last line."""
    if not file.exists():
        return
    with replaced(file) as staging, open(file, "rb") as old, open(staging, "wb") as new:
        for line in old:
            try:
                keep = wanted(json.loads(line))
            except (ValueError, LookupError, TypeError):
                keep = line.endswith(b"\n")
            if keep:
                new.write(line)
