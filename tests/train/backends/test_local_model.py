"""Loading of the learner's model in several processes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.local_model import LearningStart, _distribute
from gymposium_train.backends.protocol import BackendStart
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.reading import change_config


@pytest.mark.parametrize(
    ("given", "devices"),
    [
        (("model.tune=full",), [torch.device("cpu"), torch.device("meta")]),
        (("model.tune=lora", "optimizer.parallel=shard"), [torch.device("cpu"), torch.device("meta")]),
        (("model.tune=lora", "optimizer.parallel=replicate"), [None]),
    ],
)
def test_first_process_shards_a_model_from_cpu_memory(
    given: tuple[str, ...], devices: list[Any], tmp_path: Path
) -> None:
    """So its GPU never holds the whole model. A replicated model is loaded where it learns."""
    loaded: list[Any] = []
    commands: list[Any] = []

    def load(config: TrainConfig, name: str | Path, device: torch.device | None) -> LoadedModel:
        loaded.append(device)
        return cast("LoadedModel", SimpleNamespace(model=f"on {device}"))

    def make_learner(config: Any, model: Any, world: Any, dumps: Any, weights: Any = None) -> Any:
        return SimpleNamespace(model=model.model, weights=weights, world=world)

    config = change_config(TrainConfig(games=("tic_tac_toe",)), *given)
    world: Any = SimpleNamespace(size=2, leads=True, command=commands.append)
    start = BackendStart(config=config, directory=RunDirectory(tmp_path), world=world)
    message = LearningStart(config, "some/model")
    whole, learner = _distribute(start, message, config.model.tune, load, make_learner)
    assert loaded == devices
    assert commands == [message]
    assert whole.model == f"on {devices[0]}"
    local: Any = learner._local
    assert (local.model, local.weights) == (f"on {devices[-1]}", whole.model if len(devices) == 2 else None)
