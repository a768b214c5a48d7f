"""One run of one task on one seed, with its measures. `python -m benchmarks.learning` starts each in a separate
process.

A finished run is not repeated, and an interrupted one resumes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.learning.measures import CURVES, PlayerAt, figures, find_kind
from benchmarks.learning.points import Points, has_points, read_points
from benchmarks.learning.tasks import TASKS, Demonstrations, Task
from benchmarks.report import about
from gymposium.errors import BadOption, GymposiumError
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.util.durable import replace_text
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.overrides import Override, parse_override
from gymposium_train.config.reading import build_config, read_config, read_data
from gymposium_train.config.writing import config_to_data
from gymposium_train.run.api import train
from gymposium_train.run.fitting import fit_config
from gymposium_train.util.progress import print_message

COLD_START, TRAINED, CONTROL, RANDOM = "cold start", "trained", "control", "random play"
"""Who is measured."""
METRICS = {
    "tic_tac_toe": "random/win",
    "connect_four": "random/win",
    "2048": "alone/return",
    "mail": "alone/report.exact",
    "tables": "alone/report.exact",
    "qa": "alone/return",
}
"""What a run's short evaluations say of a game: the end of the name of a metric."""
VERSIONS = ("gymposium", "gymposium-agents", "gymposium-train", "gymposium-2048", "open_spiel", "torch", "transformers")


def run_directory(runs: Path, task: Task, seed: int) -> Path:
    """Return where a run goes."""
    return runs / f"{task.name}-{seed}"


def measured_file(runs: Path, task: Task, seed: int) -> Path:
    """Return what was measured of a run, beside what the run itself notes."""
    return run_directory(runs, task, seed) / "measured.json"


def make_config(task: Task, seed: int, runs: Path, settings: Sequence[str]) -> TrainConfig:
    """Return the task's file for one seed, with further settings that override it."""
    overrides = [*map(parse_override, settings), Override(("seed",), seed, "--seeds")]
    if task.demonstrations:
        files = [str(_chats(runs, task, shown)) for shown in task.demonstrations]
        overrides.append(Override(("cold_start", "data"), files, "demonstrations"))
    return build_config(read_data(task.file), overrides)


def demonstrate(task: Task, runs: Path) -> None:
    """Play the matches that a task's cold start imitates, unless they exist. They are the same for all seeds."""
    for shown in task.demonstrations:
        file = _chats(runs, task, shown)
        if file.is_file():
            continue
        [game] = read_data(task.file)["games"]
        play = ["--game", game, "--players", shown.player, "--matches", str(shown.matches)]
        play += ["--keep", shown.keep, "--context", "full", "--out", str(file.parent)]
        synth = [str(Path(sys.executable).with_name("gymposium")), "synth"]
        subprocess.run([*synth, *(["--resume", str(file.parent)] if file.parent.exists() else play)], check=True)


def _chats(runs: Path, task: Task, shown: Demonstrations) -> Path:
    return runs / f"{task.name}-{shown.player}" / "data.jsonl"


def learn(task: Task, seed: int, runs: Path, settings: Sequence[str], *, may_train: bool) -> RunDirectory:
    """Return the finished run.

    Raises `BadOption` if the folder holds a run with other settings, or if none exists and training is not allowed.
    """
    path, config = run_directory(runs, task, seed), make_config(task, seed, runs, settings)
    run = RunDirectory(path)
    if run.config_file.is_file() and read_config(run.config_file) != fit_config(config):
        raise BadOption(
            f"{path} was made with other settings than {task.file.name} has now. Delete it, or name another folder "
            f"for the runs with --runs."
        )
    if run.report.is_file():
        return run
    if not may_train:
        raise BadOption(f"{path} is not a finished run. Leave out --measure-only to train it.")
    callbacks = [Points(run, config, game) for game in config.games if has_points(game)]
    if run.config_file.is_file():
        return train(resume=path, callbacks=callbacks)
    return train(config, out=path, callbacks=callbacks)


def measure(task: Task, run: RunDirectory) -> dict[str, Any]:
    """Return all published figures of a run."""
    config, results = read_config(run.config_file), run.results()
    alone = config.steps == 0  # distillation alone: the cold start is the trained model
    players: dict[str, PlayerAt] = {
        **({} if alone else {COLD_START: partial(_language_model, run.cold_start, None)}),
        TRAINED: partial(_language_model, run.cold_start, None) if alone else partial(_trained, run, config),
        **({CONTROL: partial(_language_model, run.control, None)} if config.control else {}),
        RANDOM: lambda temperature: make_player("random"),
    }
    found: dict[str, dict[str, Any]] = {}
    for who, player in players.items():
        for game in config.games:
            if who == RANDOM and not load_game(game).spec.plays_at_random:
                continue
            print_message(f"measures: {who} in {game}")
            found.setdefault(who, {})[game] = figures(game, player, config.seed, who.replace(" ", "-"))
    settings = config_to_data(config)
    if task.demonstrations:
        settings["cold_start"]["data"] = [str(shown) for shown in task.demonstrations]  # whatever folder they are in
    return {
        "config": settings,
        "tokenizer": hashlib.sha256((run.cold_start / "tokenizer.json").read_bytes()).hexdigest(),
        "cpu_seconds": {"train": 0.0, **{name: results[f"{name}_cpu_seconds"] for name in _phases(config)}},
        "figures": found,
        "curves": {game: _curve(game, run, found) for game in config.games},
    }


def _phases(config: TrainConfig) -> Sequence[str]:
    return ("cold_start", *(["train"] if config.steps != 0 else []), *(["control"] if config.control else []))


def _trained(run: RunDirectory, config: TrainConfig, temperature: float) -> Player:
    if config.model.tune == "full":
        return _language_model(run.model, None, temperature)
    return _language_model(run.cold_start, run.adapter, temperature)


def _language_model(model: Path, adapter: Path | None, temperature: float) -> Player:
    beside = "" if adapter is None else f"@{adapter}"
    return make_player(f"lm:{model}{beside}?temperature={temperature}")


def _curve(game: str, run: RunDirectory, found: dict[str, dict[str, Any]]) -> list[tuple[float, float]]:
    """Return the learning curve by CPU seconds, cold start included.

    The ends are measured. Points between come from the run's short evaluations or its checkpoints.
    """
    figure, _ = CURVES[find_kind(game)]
    results = run.results()
    began, trained = results["cold_start_cpu_seconds"], results.get("train_cpu_seconds", 0.0)
    if COLD_START not in found:
        return [(began, found[TRAINED][game][figure])]
    between = read_points(run) if has_points(game) else _evaluated(f"eval/{game}/{METRICS[find_kind(game)]}", run)
    ends = found[COLD_START][game][figure], found[TRAINED][game][figure]
    return [(began, ends[0]), *((began + seconds, value) for seconds, value in between), (began + trained, ends[1])]


def _evaluated(metric: str, run: RunDirectory) -> list[tuple[float, float]]:
    """Return the training's CPU seconds and a metric of the run's short evaluations."""
    lines = [line for line in run.metrics() if line["stage"] == "train" and line.get(metric) is not None]
    return [(line["perf/cpu_seconds"], line[metric]) for line in lines]


def main() -> None:
    """Do one run, and write `measured.json` in its directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=[task.name for task in TASKS])
    parser.add_argument("seed", type=int)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--command", required=True, help="what a reader types to have it again")
    parser.add_argument("--measure-only", action="store_true", help="train nothing; measure again what stands")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    given = parser.parse_args()
    task = next(task for task in TASKS if task.name == given.task)
    file = measured_file(given.runs, task, given.seed)
    run = learn(task, given.seed, given.runs, given.settings, may_train=not given.measure_only)
    if file.is_file() and not given.measure_only:
        return
    found = {"about": {**about(*VERSIONS), "command": given.command}, **measure(task, run)}
    replace_text(file, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except GymposiumError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
