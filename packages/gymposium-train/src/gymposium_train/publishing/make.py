"""Which way of publishing goes with a config."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path

from gymposium_agents.grammar import HostingEngine
from gymposium_agents.loading import LoadedModel, load_model
from gymposium_agents.lora.store import AdapterStore
from gymposium_train.config import TrainConfig
from gymposium_train.learner.precision import compute_type
from gymposium_train.publishing.hosted import HostedAdapters
from gymposium_train.publishing.protocol import Publisher
from gymposium_train.publishing.shared import SharedAdapter
from gymposium_train.publishing.whole import KeptModels, WholeModels


def policy_name(config: TrainConfig, directory: Path) -> str:
    """What the run's policies are called. A server that others use as well may hold a policy of another run under the
    plain name."""
    if config.engine.url is None:
        return "learner"
    return f"learner.{hashlib.sha256(str(directory.absolute()).encode()).hexdigest()[:8]}"


def make_publisher(
    config: TrainConfig, name: str, directory: Path, loaded: LoadedModel, resources: ExitStack
) -> Publisher:
    """The way of publishing that `config`, which must make sense as a whole, asks for. `loaded` is the learner's model;
    policies are called `name`, and what is saved of them goes to `directory`. What must be ended with the run (a
    server) is put on `resources`.

    Raises `GymposiumError` where a server does not come up, or serves another model."""
    engine, model = config.engine, config.model
    base = str(loaded.model.name_or_path)
    dtype = compute_type(config.optimizer.precision)
    if model.tune == "full":
        number = engine.staleness + 1 if engine.kind == "own" else 0
        copies = [load_model(base, trust=model.trust, dtype=dtype) for _ in range(number)]
        return WholeModels(loaded, copies, KeptModels(directory, name, dtype, model.trust))
    store = AdapterStore(directory, name)
    if engine.kind == "shared":
        return SharedAdapter(loaded, store)
    host: HostingEngine
    if engine.kind == "own":
        host = load_model(base, load=model.load, trust=model.trust, dtype=dtype).engine()
    else:
        from gymposium_train.publishing.server import server_engine  # httpx and more, which only servers need

        host = resources.enter_context(server_engine(config, loaded, base))
    return HostedAdapters(host, loaded.model, store, engine.staleness)
