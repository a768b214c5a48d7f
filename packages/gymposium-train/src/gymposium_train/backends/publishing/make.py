"""Construction of a run's publisher."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from gymposium.errors import PluginError
from gymposium.plugins.specs import EngineSpec
from gymposium_agents.engines.protocol import HostingEngine, WeightsHost
from gymposium_agents.engines.registry import find_engine_spec
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.engines import RunEngine, make_engine_start, open_engine
from gymposium_train.backends.publishing.hosted import HostedAdapterPublisher
from gymposium_train.backends.publishing.protocol import Publisher
from gymposium_train.backends.publishing.shared import SharedAdapterPublisher
from gymposium_train.backends.publishing.whole import HostedModelPublisher, ModelPublisher
from gymposium_train.config import TrainConfig
from gymposium_train.learner.precision import choose_compute_type


def make_publisher(
    config: TrainConfig,
    name: str,
    directory: Path,
    loaded: LoadedModel,
    run_engine: RunEngine,
    resources: ExitStack,
) -> Publisher:
    """Make the publisher for a checked `config`. `loaded` is the learner's model. `name` is the name of its policies.
    Versions are saved in `directory`. It publishes to `run_engine`, or to engines that are closed with `resources`.

    Raises `GymposiumError` if an engine cannot be made: a server does not start, or serves another model."""
    spec, model, staleness = find_engine_spec(config.engine.kind), config.model, config.engine.staleness
    shares = spec.shares_learner
    start = make_engine_start(config, loaded.model.name_or_path, loaded.stops, loaded if shares else None)
    first = open_engine(config, start, resources) if shares else run_engine.open(start)
    if model.tune == "full":
        dtype = choose_compute_type(config.optimizer.precision)
        if isinstance(first, WeightsHost):
            exchange = run_engine.exchange
            return HostedModelPublisher(loaded, first, directory, name, dtype, model.trust, exchange=exchange)
        others = [open_engine(config, start, resources) for _ in range(staleness)]
        engines = [_check_transformers_engine(spec, engine) for engine in (first, *others)]
        return ModelPublisher(loaded, engines, directory, name, dtype, model.trust)
    store = AdapterStore(directory, name)
    if shares:
        return SharedAdapterPublisher(_check_transformers_engine(spec, first), store)
    return HostedAdapterPublisher(first, loaded.model, store, staleness)


def _check_transformers_engine(spec: EngineSpec, engine: HostingEngine) -> TransformersEngine:
    if not isinstance(engine, TransformersEngine):
        raise PluginError(
            f"The engine {spec.name!r} claims to share the learner's model or to play all weights, but it is neither a "
            f"WeightsHost nor a TransformersEngine: {type(engine).__name__}."
        )
    return engine
