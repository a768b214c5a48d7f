"""The checkpoints of a run that is served, and those that are kept as models to use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from gymposium_train.backends.protocol import BackendStart, make_backend
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory, is_whole
from gymposium_train.run.checkpoints import complete_checkpoints, step_of
from gymposium_train.serving.errors import NotFound


@dataclass(slots=True)
class ServedCheckpoints:
    """The checkpoints of the run in `directory`."""

    directory: Path
    config: TrainConfig
    _one_at_a_time: Lock = field(default_factory=Lock)

    def listed(self) -> list[dict[str, Any]]:
        """The complete checkpoints and those that were promoted, by step."""
        run = RunDirectory(self.directory)
        there = {step_of(path) for path in complete_checkpoints(run.checkpoints)}
        kept = {step_of(path) for path in complete_checkpoints(run.promoted)}
        return [{"step": step, "promoted": step in kept} for step in sorted(there | kept)]

    def promote(self, step: int) -> dict[str, Any]:
        """Keep the weights of a checkpoint as a model or adapter to use. Promoting it again changes nothing. Raises
        `NotFound` if there is no such checkpoint."""
        run = RunDirectory(self.directory)
        place = run.promoted / f"step-{step:05d}"
        with self._one_at_a_time:
            if not is_whole(place):
                saved = next((path for path in complete_checkpoints(run.checkpoints) if step_of(path) == step), None)
                if saved is None:
                    raise NotFound(f"There is no checkpoint of step {step}. A run keeps its newest ones.")
                start = BackendStart(config=self.config, directory=run)
                make_backend(start).export(start, saved, place)
        return {"step": step, "promoted": True, "directory": str(place.resolve())}
