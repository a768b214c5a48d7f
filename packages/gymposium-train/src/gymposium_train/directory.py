"""The run directory: the truth about a run, and where each thing in it stands."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gymposium.cli.text import finite
from gymposium.durable import MARK, replace_text, sweep, whole_directory
from gymposium.errors import BadOption
from gymposium.records import Problem, ends_line, read_records
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
    def create(cls, path: Path, config: TrainConfig) -> RunDirectory:
        """A new run. A directory that holds something already is refused."""
        if path.exists() and any(path.iterdir()):
            raise BadOption(f"{path} is not empty. Continue it with --resume {path}, or name another with --out.")
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path)
        found = {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}}
        write_json(run.versions_file, found)
        replace_text(run.config_file, as_json(config))  # last: with it there is a run to resume
        return run

    @classmethod
    def open(cls, path: Path) -> tuple[RunDirectory, TrainConfig]:
        """An existing run and its config."""
        run = cls(path)
        if not run.config_file.is_file():
            raise BadOption(f"{path} is not a run directory (it has no config.json).")
        return run, read_config(run.config_file)

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
        with open(self.metrics_file, "a", encoding="utf-8") as file:
            if file.tell() and not ends_line(self.metrics_file):  # an earlier writer was cut off
                file.write("\n")
            file.write(json.dumps(finite(metrics), allow_nan=False) + "\n")

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
