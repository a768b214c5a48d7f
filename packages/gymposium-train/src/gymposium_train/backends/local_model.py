"""The learner's model on this machine, in one process or several started by torchrun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gymposium_agents.chat.chat import Chat
from gymposium_agents.engines.adapters import compute_lora_digest
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.models import (
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
        return make_publisher(self.config, name, directory, self.loaded, resources)

    def save(self, target: Path) -> None:
        if self.imitates is not None:
            with self.stage_save(target):
                return
        with self.learner.in_float32():
            save_trained_model(self.config, self.loaded, target)

    @contextmanager
    def stage_save(self, target: Path) -> Iterator[Path]:
        """Save a model after imitation. Yields the staging directory, which becomes `target` after the block."""
        assert self.imitates is not None
        with (
            self.learner.in_float32(),
            save_imitated_model(self.config, self.loaded, self.imitates, target) as staging,
        ):
            yield staging


@dataclass(frozen=True, slots=True)
class LearningStart:
    """The message that starts imitation or reinforcement learning in the other processes, with the data they need."""

    config: TrainConfig
    model: str | Path
    imitates: bool = False


@contextmanager
def open_imitation(start: BackendStart) -> Iterator[LocalModel]:
    """Yield the model before the cold start, with its learner. With several processes, the first one holds a complete
    copy to evaluate and save."""
    config, world, dumps = start.config, start.world, start.directory.dumps
    model = find_initial_model(start.directory, config)
    if world.size == 1:
        yield load_imitator(config, model, dumps)
        return
    whole = load_for_imitation(config, model)
    world.command(LearningStart(config, model, imitates=True))
    empty = load_for_imitation(config, model, empty=True)
    learner = DistributedLearner(make_imitation_learner(config, empty, world, dumps, weights=whole.model), whole.model)
    with learner.leading():
        yield LocalModel(config, whole, learner, imitates=model)


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
    return _make_learner(config, loaded, Loss(legality=config.legality_weight), world, dumps, weights)


@contextmanager
def open_reinforcement(start: BackendStart) -> Iterator[LocalModel]:
    """Yield the model after the cold start, with its learner. With several processes, a copy in CPU memory plays and is
    saved."""
    config, world, dumps = start.config, start.world, start.directory.dumps
    model = find_cold_start_model(start.directory, config)
    loaded = load_for_reinforcement(config, model)
    if world.size == 1:
        yield LocalModel(config, loaded, make_reinforcement_learner(config, loaded, world, dumps))
        return
    world.command(LearningStart(config, model))
    whole = LoadedModel(loaded.model.to("cpu"), loaded.chat)
    local = make_reinforcement_learner(
        config, load_for_reinforcement(config, model, empty=True), world, dumps, weights=whole.model
    )
    learner = DistributedLearner(local, whole.model)
    with learner.leading():
        yield LocalModel(config, whole, learner)


def make_reinforcement_learner(
    config: TrainConfig,
    loaded: LoadedModel,
    world: Processes,
    dumps: Path | None = None,
    *,
    weights: Any | None = None,
) -> LocalLearner:
    """Make this process's learner for reinforcement learning. `weights` is as in `LocalLearner`."""
    return _make_learner(config, loaded, Loss.from_config(config), world, dumps, weights)


def _make_learner(
    config: TrainConfig, loaded: LoadedModel, loss: Loss, world: Processes, dumps: Path | None, weights: Any | None
) -> LocalLearner:
    return LocalLearner(
        loaded.model,
        loaded.pad,
        config.optimizer,
        attention=config.model.attention,
        loss=loss,
        dumps=dumps,
        world=world,
        weights=weights,
    )
