"""The run directory, which holds all files of a run."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gymposium.cli.text import replace_nonfinite
from gymposium.errors import BadOption, BadRecord, GymposiumError, describe_cause, describe_error
from gymposium.records import Problem, read_records
from gymposium.runs.folder import check_run_path, create_run_folder
from gymposium.runs.links import check_contained
from gymposium.runs.results import build_rows, judge_run, sum_stage_seconds
from gymposium.runs.run import Run
from gymposium.util.durable import (
    MARK,
    remove_directory,
    remove_staging,
    replace_content,
    replace_text,
    write_directory,
)
from gymposium.util.lines import LineWriter
from gymposium.util.plain_file import find_form, read_lines, read_plain_text
from gymposium.util.strict_json import is_number, parse_strict_json
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import read_config
from gymposium_train.config.writing import config_to_data, config_to_json
from gymposium_train.util.progress import print_message

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
    """The files of a run. Its attributes are their paths.

    - `config.json` and `versions.json`: the config and software versions
    - `matches/*.jsonl`: every match
    - `metrics.jsonl`: the metrics of each step
    - `samples.jsonl`: rollouts for inspection
    - `results.json`: all evaluations
    - `base/`: the small model, if the run made one
    - `cold_start/`: the model after its cold start
    - `adapter/`, or `model/` if all weights were trained: the result
    - `control/`: the control's model
    - `fine_tuning/`: checkpoints of a cold start in epochs, until it is complete
    - `checkpoints/`, `best/` (at the best point of the learning curve), `versions/` (past versions of the policy)
    - `promoted/`: checkpoints of a served run, as models to use
    - `dumps/`: batches with a non-finite gradient
    - `report.html`: the run's page"""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.json"
        self.versions_file = path / "versions.json"
        self.metrics_file = path / "metrics.jsonl"
        self.samples_file = path / "samples.jsonl"
        self.results_file = path / "results.json"
        self.base = path / "base"
        self.cold_start = path / "cold_start"
        self.fine_tuning = path / "fine_tuning"
        self.checkpoints = path / "checkpoints"
        self.best = path / "best"
        self.adapter = path / "adapter"
        self.model = path / "model"
        self.control = path / "control"
        self.promoted = path / "promoted"
        self.dumps = path / "dumps"
        self.report = path / "report.html"

    @classmethod
    def create(cls, path: Path | None, config: TrainConfig) -> RunDirectory:
        """Create the directory of a new run, by default in `gymposium-runs`. Raises `BadOption` if the directory is not
        empty."""
        check_run_path(path)
        path = path or create_run_folder("train")
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path)
        replace_text(run.config_file, config_to_json(config))  # from now on, the run can be resumed
        run.write_versions()
        return run

    @classmethod
    def open(cls, path: Path) -> tuple[RunDirectory, TrainConfig]:
        """Open an existing run, and return it with its config. Writes nothing.

        Raises `BadOption` for a directory without a run, or with a link that leads out of it."""
        run = cls(path)
        if not run.config_file.is_file():
            raise BadOption(
                f"{path} is not a run directory: config.json is missing. Name a directory written by gymposium train."
            )
        check_contained(path)
        return run, read_config(run.config_file)

    def write_versions(self) -> None:
        """Write the software versions, unless the run already has them."""
        if self.versions_file.exists():
            return
        packages = {name: version(name) for name in _VERSIONS}
        write_json(self.versions_file, {"python": platform.python_version(), **packages})

    def matches(self, stage: str) -> Path:
        """Return the file of a stage's matches, compressed or not."""
        return find_form(self.path / "matches" / f"{stage}.jsonl")

    def recorded_ids(self, stage: str) -> set[str]:
        """Return the ids of matches already recorded by an interrupted run. Reports broken lines."""
        ids: set[str] = set()
        if self.matches(stage).is_file():
            for _, record in read_records(self.matches(stage)):
                if isinstance(record, Problem):
                    print_message(f"Skipped: {record}", style="yellow")
                else:
                    ids.add(record.id)
        return ids

    def results(self) -> dict[str, Any]:
        """Return the results so far: evaluations, optima and CPU seconds. Empty in a new run.

        Raises `BadRecord` for an invalid file."""
        if not self.results_file.exists():
            return {}
        results = Run(self.path.name, self.path).results()
        if isinstance(results, Problem):
            raise BadRecord(f"{results}. Start a new run.")
        return results

    def check_results(self, config: TrainConfig) -> None:
        """Raise `BadRecord` if the results so far have values that a resumed run cannot use."""
        results = self.results()
        try:
            build_rows(config_to_data(config), results)
            judge_run(results)
            sum_stage_seconds(results)
            needed = ("train_cpu_seconds", "steps") if is_complete(self.adapter) or is_complete(self.model) else ()
            if wrong := [name for name in needed if not is_number(results[name])]:
                raise TypeError(f"{wrong[0]} is not a number")
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadRecord(
                f"{self.results_file} does not match this run ({describe_error(error)}). Start a new run."
            ) from error

    def add_results(self, **more: Any) -> None:
        """Add results, replacing those of the same name."""
        self.replace_results({**self.results(), **more})

    def replace_results(self, results: Mapping[str, Any]) -> None:
        """Replace all results."""
        write_json(self.results_file, results)

    def drop_matches(self, stage: str, prefixes: tuple[str, ...]) -> None:
        """Remove a stage's matches whose ids begin with one of the prefixes."""
        if any(name.startswith(prefixes) for name in self.recorded_ids(stage)):
            _keep_lines(self.matches(stage), lambda line: not line["id"].startswith(prefixes))

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Append a line to the metrics file: `stage`, `step`, and the metrics of that step."""
        with LineWriter(self.metrics_file, sync=False) as file:
            file.append_lines(json.dumps(replace_nonfinite(metrics), allow_nan=False))

    def remove_later_metrics(self, stage: str, step: int) -> None:
        """Remove the lines that an interrupted run wrote for later steps of this stage, because they will be
        repeated."""
        _keep_lines(self.metrics_file, lambda line: line["stage"] != stage or line["step"] <= step)
        if stage == "train":
            _keep_lines(self.samples_file, lambda line: line["step"] <= step)

    def metrics(self) -> list[dict[str, Any]]:
        """Return all lines of the metrics file, with the last line of each repeated step. Lines without metrics, such
        as half-written ones, are reported and skipped. Raises `BadRecord` for an unreadable file."""
        if not self.metrics_file.exists():
            return []
        by_step: dict[tuple[str, int], dict[str, Any]] = {}
        try:
            for number, line in enumerate(read_lines(self.metrics_file), start=1):
                match _parse_line(line):
                    case {"stage": str(stage), "step": int(step)} as entry:
                        by_step[stage, step] = entry
                    case _:
                        print_message(f"Skipped {self.metrics_file}:{number}: no metrics of a step", style="yellow")
        except OSError as error:
            raise BadRecord(f"Cannot read {self.metrics_file} ({describe_cause(error)}). Remove it.") from error
        return list(by_step.values())


def is_complete(directory: Path) -> bool:
    """Return True if a directory was written completely."""
    return (directory / MARK).is_file()


@contextmanager
def stage_directory(directory: Path) -> Iterator[Path]:
    """Yield a staging directory, renamed to `directory` after the block. First removes leftovers of an interrupted
    run."""
    remove_staging(directory.parent, f"{directory.name}.")
    if directory.exists() and not is_complete(directory):
        remove_directory(directory)
    with write_directory(directory) as staging:
        yield staging


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file atomically, by renaming."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(replace_nonfinite(data), indent=2, allow_nan=False) + "\n")


def read_state(file: Path) -> dict[str, Any]:
    """Read the state that a run saved in a file. Raises `GymposiumError` if the file does not contain one."""
    try:
        state = parse_strict_json(read_plain_text(file))
    except (OSError, ValueError) as error:
        raise GymposiumError(f"Cannot read {file} ({describe_cause(error)}). Remove {file.parent}.") from error
    if not isinstance(state, dict):
        raise GymposiumError(f"{file} does not contain a run's state. Remove {file.parent}.")
    return state


@contextmanager
def check_state(file: Path) -> Iterator[None]:
    """Raise `GymposiumError` if the block fails on a missing or wrongly typed field of the state in `file`."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise GymposiumError(
            f"{file} does not match this run's state ({describe_error(error)}). Remove {file.parent}."
        ) from error


def _keep_lines(file: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Rewrite a file of JSON lines, keeping lines that are wanted or cannot be parsed. A half-written last line is
    removed."""
    if not file.exists():
        return
    with replace_content(file) as new:
        for line in read_lines(file, follow=False):
            try:
                keep = wanted(_parse_line(line))
            except (LookupError, TypeError):
                keep = line.endswith(b"\n")
            if keep:
                new.write(line)


def _parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line, or an empty dict for anything else."""
    try:
        data = parse_strict_json(line.decode())
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
