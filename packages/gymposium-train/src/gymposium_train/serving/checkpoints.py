"""A served run's checkpoints, including those promoted to usable models."""

from __future__ import annotations

from dataclasses import dataclass, field
from os.path import realpath
from pathlib import Path
from threading import Lock
from typing import Any

from gymposium_train.backends.protocol import BackendStart, make_backend
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory, is_complete
from gymposium_train.run.checkpoints import checkpoint_path, list_complete_checkpoints, read_step
from gymposium_train.serving.errors import NotFound


@dataclass(slots=True)
class ServedCheckpoints:
    """The checkpoints of the run in `directory`."""

    directory: Path
    config: TrainConfig
    _one_at_a_time: Lock = field(default_factory=Lock)

    def listed(self) -> list[dict[str, Any]]:
        """Return the complete and promoted checkpoints, ordered by step."""
        run = RunDirectory(self.directory)
        there = {read_step(path) for path in list_complete_checkpoints(run.checkpoints)}
        kept = {read_step(path) for path in list_complete_checkpoints(run.promoted)}
        return [{"step": step, "promoted": step in kept} for step in sorted(there | kept)]

    def promote(self, step: int) -> dict[str, Any]:
        """Promote a checkpoint: keep its weights as a usable model or adapter. Idempotent. Raises `NotFound` if the
        checkpoint does not exist."""
        run = RunDirectory(self.directory)
        place = checkpoint_path(run.promoted, step)
        with self._one_at_a_time:
            if not is_complete(place):
                saved = next(
                    (path for path in list_complete_checkpoints(run.checkpoints) if read_step(path) == step), None
                )
                if saved is None:
                    raise NotFound(
                        f"No checkpoint of step {step}. A run keeps only its latest checkpoints. Name one of those."
                    )
                start = BackendStart(config=self.config, directory=run)
                make_backend(start).export(start, saved, place)
        return {"step": step, "promoted": True, "directory": realpath(place)}
