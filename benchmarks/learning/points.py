"""Exact points of a learning curve: the policy of each checkpoint, measured when it is written.

For games small enough to traverse, where play against random players says little about the distance to an equilibrium.
"""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import load_file

from benchmarks.learning.measures import CURVES, exploitability, find_kind
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium_agents.models.loading import load_model
from gymposium_agents.players.player import make_engine_player
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.run.callbacks import Callback
from gymposium_train.run.checkpoints import STATE

WEIGHTS = "weights|"
"""What names of learned weights begin with in a checkpoint."""


def has_points(game: str) -> bool:
    """Return whether the learning curve of a game shows exploitability."""
    return CURVES[find_kind(game)][0] == "exploitability"


class Points(Callback):
    """Hook that appends CPU seconds of training and exploitability in one game to `points.jsonl` of a run.

    The run does not count the time that it takes.
    """

    def __init__(self, run: RunDirectory, config: TrainConfig, game: str) -> None:
        self._run, self._config, self._game = run, config, game

    def on_checkpoint(self, path: Path) -> None:
        """Append a line for a checkpoint, except before the first step, where the policy is the cold start's."""
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        if state["step"] == 0:
            return
        found, _ = exploitability(self._game, self._player(path), self._config.seed)
        point = {"step": state["step"], "cpu_seconds": state["cpu_seconds"], "exploitability": found}
        with open(_file(self._run), "a", encoding="utf-8") as file:
            file.write(json.dumps(point) + "\n")

    def _player(self, checkpoint: Path) -> Player:
        if self._config.model.tune == "lora":
            return make_player(f"lm:{self._run.cold_start}@{checkpoint}?temperature=1")
        loaded = load_model(self._run.cold_start)
        weights = {
            name.removeprefix(WEIGHTS): tensor
            for file in checkpoint.glob("learner-*.safetensors")
            for name, tensor in load_file(file).items()
            if name.startswith(WEIGHTS)
        }
        loaded.model.load_state_dict(weights, strict=False)  # tied weights have one name there
        return make_engine_player(
            f"lm:{checkpoint}", loaded.engine(), loaded.chat, self._config.prompting.player_settings(1.0)
        )


def read_points(run: RunDirectory) -> list[tuple[float, float]]:
    """Return CPU seconds and exploitability, without the last step's. For a repeated step, the last counts."""
    if not _file(run).is_file():
        return []
    lines = [json.loads(line) for line in _file(run).read_text(encoding="utf-8").splitlines()]
    found = {line["step"]: (line["cpu_seconds"], line["exploitability"]) for line in lines}
    return [found[step] for step in sorted(found)[:-1]]


def _file(run: RunDirectory) -> Path:
    return run.path / "points.jsonl"
