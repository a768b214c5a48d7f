"""Construction of a run's publisher and its engines."""

from __future__ import annotations

import gc
import hashlib
import shutil
from contextlib import ExitStack
from pathlib import Path

import torch

from gymposium.errors import PluginError
from gymposium.plugins.specs import EngineSpec
from gymposium_agents.engines.protocol import EngineStart, HostingEngine, WeightsHost
from gymposium_agents.engines.registry import find_engine_spec, make_engine
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.publishing.hosted import HostedAdapterPublisher
from gymposium_train.backends.publishing.protocol import Publisher
from gymposium_train.backends.publishing.shared import SharedAdapterPublisher
from gymposium_train.backends.publishing.whole import HostedModelPublisher, ModelPublisher
from gymposium_train.config import TrainConfig
from gymposium_train.learner.precision import choose_compute_type


def make_policy_name(config: TrainConfig, directory: Path) -> str:
    """Return the name of a run's policies. It is unique if the run uses a server that may hold policies of other
    runs."""
    if getattr(config.engine, "url", None) is None:
        return "learner"
    return f"learner.{_hash_path(directory)}"


def _hash_path(directory: Path) -> str:
    return hashlib.sha256(str(directory.absolute()).encode()).hexdigest()[:8]


def make_publisher(
    config: TrainConfig, name: str, directory: Path, loaded: LoadedModel, resources: ExitStack
) -> Publisher:
    """Make the publisher for a checked `config`. `loaded` is the learner's model. `name` is the name of its policies.
    Versions are saved in `directory`. The engines are closed with `resources`.

    Raises `GymposiumError` if an engine cannot be made: a server does not start, or serves another model."""
    spec, model, staleness = find_engine_spec(config.engine.kind), config.model, config.engine.staleness
    start = make_engine_start(config, loaded)

    def make_engine() -> HostingEngine:
        return open_engine(config, start, resources)

    if model.tune == "full":
        dtype = choose_compute_type(config.optimizer.precision)
        exchange = make_exchange(config, directory, resources)  # outlives the engine
        first = make_engine()
        if isinstance(first, WeightsHost):
            return HostedModelPublisher(loaded, first, directory, name, dtype, model.trust, exchange=exchange)
        count = 1 if spec.shares_learner else staleness + 1
        engines = [_make_transformers_engine(spec, one) for one in (first, *(make_engine() for _ in range(count - 1)))]
        return ModelPublisher(loaded, engines, directory, name, dtype, model.trust)
    store = AdapterStore(directory, name)
    if spec.shares_learner:
        return SharedAdapterPublisher(_make_transformers_engine(spec, make_engine()), store)
    return HostedAdapterPublisher(make_engine(), loaded.model, store, staleness)


def open_engine(config: TrainConfig, start: EngineStart, resources: ExitStack) -> HostingEngine:
    """Make an engine of a run. It is closed with `resources`. GPU memory that this process holds but does not use is
    released first, because a server may share the GPU.

    Raises `GymposiumError` if the engine cannot be made."""
    release_unused_memory()
    made = make_engine(find_engine_spec(config.engine.kind), start, config.engine.own)
    resources.callback(made.close)
    return made


def release_unused_memory() -> None:
    """Return the GPU memory of deleted tensors to the device. Does nothing if this process uses no GPU."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        gc.collect()  # players and engines may be in reference cycles
        torch.cuda.empty_cache()


def make_engine_start(config: TrainConfig, loaded: LoadedModel) -> EngineStart:
    """Return the model for the engine that samples a run's rollouts, with its loading options."""
    past = any("past" in stage.opponents for stage in config.stages)
    return EngineStart(
        model=str(loaded.model.name_or_path),
        stops=loaded.stops,
        trust=config.model.trust,
        load=config.model.load,
        dtype=name_compute_type(config),
        lora_rank=config.model.lora.rank if config.model.tune == "lora" else 0,
        # those that rollouts may still play, a new one while it is published, and past opponents, also leaving ones
        versions=config.engine.staleness + 2 + (config.pool.size + config.engine.staleness if past else 0),
        learner=loaded,
    )


def name_compute_type(config: TrainConfig) -> str:
    """Return the name of the run's number type for computation, such as `bfloat16`."""
    return str(choose_compute_type(config.optimizer.precision)).removeprefix("torch.")


def make_exchange(config: TrainConfig, directory: Path, resources: ExitStack) -> Path:
    """Return a temporary directory for passing weights to the engine. It is removed with `resources`."""
    parent = getattr(config.engine, "exchange", None)
    exchange = directory / ".weights" if parent is None else Path(parent) / f"gymposium-{_hash_path(directory)}"
    resources.callback(shutil.rmtree, exchange, ignore_errors=True)
    return exchange


def _make_transformers_engine(spec: EngineSpec, engine: HostingEngine) -> TransformersEngine:
    if not isinstance(engine, TransformersEngine):
        raise PluginError(
            f"The engine {spec.name!r} claims to share the learner's model or to play all weights, but it is neither a "
            f"WeightsHost nor a TransformersEngine: {type(engine).__name__}."
        )
    return engine
