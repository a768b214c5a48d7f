"""The learner's model on this machine, in one process or several started by torchrun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gymposium_agents.chat.chat import Chat
from gymposium_agents.engines.adapters import compute_lora_digest
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.engines import RunEngine
from gymposium_train.backends.models import (
    META,
    find_cold_start_model,
    find_initial_model,
    load_for_imitation,
    load_for_reinforcement,
    save_imitated_model,
    save_trained_model,
)
from gymposium_train.backends.protocol import BackendStart
from gymposium_train.backends.publishing import Publisher, make_publisher
from gymposium_train.config import TrainConfig
from gymposium_train.config.learn import Parallel
from gymposium_train.config.model import Tune
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.learner.parallel.world import ALONE, Processes


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model in memory with its learner (a `LearningModel`)."""

    config: TrainConfig
    loaded: LoadedModel
    """The model that is played and saved."""
    learner: LocalLearner | DistributedLearner
    imitates: str | Path | None = None
    """The model that imitation starts from, or None in reinforcement learning."""
    run_engine: RunEngine | None = None
    """The engine that training and evaluations share. None outside a run."""

    @property
    def chat(self) -> Chat:
        return self.loaded.chat

    @property
    def context(self) -> int:
        return int(self.loaded.model.config.get_text_config(decoder=True).max_position_embeddings)

    @property
    def digest(self) -> Callable[[], str] | None:
        model = self.loaded.model
        return partial(compute_lora_digest, model) if hasattr(model, "peft_config") else None

    def engine(self) -> TransformersEngine:
        return self.loaded.engine()

    def publisher(self, name: str, directory: Path, resources: ExitStack) -> Publisher:
        engine = self.run_engine or resources.enter_context(RunEngine(self.config, directory))
        return make_publisher(self.config, name, directory, self.loaded, engine, resources)

    def save(self, target: Path) -> None:
        with self.learner.in_float32():
            if self.imitates is not None:
                save_imitated_model(self.config, self.loaded, self.imitates, target)
            else:
                save_trained_model(self.config, self.loaded, target)


@dataclass(frozen=True, slots=True)
class LearningStart:
    """The message that starts imitation or reinforcement learning in the other processes, with the data they need."""

    config: TrainConfig
    model: str | Path
    imitates: bool = False


def replicates(config: TrainConfig, tune: Tune) -> bool:
    """Return True if each of several processes holds the whole model while it trains these weights. A run that
    replicates its LoRA shards a cold start of all weights, which needs far more memory."""
    return config.optimizer.parallel == "replicate" and (tune == "lora" or config.model.tune == "full")


@contextmanager
def open_imitation(start: BackendStart) -> Iterator[LocalModel]:
    """Yield the model before the cold start, with its learner."""
    config, model = start.config, find_initial_model(start.directory, start.config)
    if start.world.size == 1:
        yield load_imitator(config, model, start.directory.dumps)
        return
    message, tune = LearningStart(config, model, imitates=True), config.cold_start.tune
    loaded, learner = _distribute(start, message, tune, load_for_imitation, make_imitation_learner)
    with learner.leading():
        yield LocalModel(config, loaded, learner, imitates=model)


def _distribute(
    start: BackendStart,
    message: LearningStart,
    tune: Tune,
    load: Callable[[TrainConfig, str | Path, torch.device | None], LoadedModel],
    make_learner: Callable[..., LocalLearner],
) -> tuple[LoadedModel, DistributedLearner]:
    """Load a model in all processes. Returns this process's model and its learner. If the model is sharded, a complete
    copy in CPU memory is returned, which plays and is saved."""
    config, world, dumps = start.config, start.world, start.directory.dumps
    if replicates(config, tune):
        loaded = load(config, message.model, None)
        world.command(message)
        return loaded, DistributedLearner(make_learner(config, loaded, world, dumps))
    whole = load(config, message.model, torch.device("cpu"))
    world.command(message)
    local = make_learner(config, load(config, message.model, META), world, dumps, weights=whole.model)
    return whole, DistributedLearner(local, whole.model)


def load_imitator(config: TrainConfig, name: str | Path, dumps: Path) -> LocalModel:
    """Load the model at `name` with an imitation learner, in this process."""
    loaded = load_for_imitation(config, name)
    return LocalModel(config, loaded, make_imitation_learner(config, loaded, dumps=dumps), imitates=name)


def make_imitation_learner(
    config: TrainConfig,
    loaded: LoadedModel,
    world: Processes = ALONE,
    dumps: Path | None = None,
    *,
    weights: Any | None = None,
) -> LocalLearner:
    """Make this process's learner for imitation. `weights` is as in `LocalLearner`."""
    return _make_learner(
        config, loaded, config.cold_start.tune, Loss(legality=config.legality_weight), world, dumps, weights
    )


@contextmanager
def open_reinforcement(start: BackendStart) -> Iterator[LocalModel]:
    """Yield the model after the cold start, with its learner."""
    config, model = start.config, find_cold_start_model(start.directory, start.config)
    if start.world.size == 1:
        loaded = load_for_reinforcement(config, model)
        local = make_reinforcement_learner(config, loaded, start.world, start.directory.dumps)
        yield LocalModel(config, loaded, local, run_engine=start.engine)
        return
    message, tune = LearningStart(config, model), config.model.tune
    loaded, learner = _distribute(start, message, tune, load_for_reinforcement, make_reinforcement_learner)
    with learner.leading():
        yield LocalModel(config, loaded, learner, run_engine=start.engine)


def make_reinforcement_learner(
    config: TrainConfig,
    loaded: LoadedModel,
    world: Processes,
    dumps: Path | None = None,
    *,
    weights: Any | None = None,
) -> LocalLearner:
    """Make this process's learner for reinforcement learning. `weights` is as in `LocalLearner`."""
    return _make_learner(config, loaded, config.model.tune, Loss.from_config(config), world, dumps, weights)


def _make_learner(
    config: TrainConfig,
    loaded: LoadedModel,
    tune: Tune,
    loss: Loss,
    world: Processes,
    dumps: Path | None,
    weights: Any | None,
) -> LocalLearner:
    parallel: Parallel = "replicate" if replicates(config, tune) else "shard"
    return LocalLearner(
        loaded.model,
        loaded.pad,
        config.optimizer.model_copy(update={"parallel": parallel}),
        attention=config.model.attention,
        loss=loss,
        dumps=dumps,
        world=world,
        weights=weights,
    )
