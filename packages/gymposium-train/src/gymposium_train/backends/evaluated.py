"""Players of the models that a run saved, for evaluation. The run's engine samples their replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import HostingEngine, WeightsHost
from gymposium_agents.engines.registry import find_engine_spec
from gymposium_agents.models.loading import load_stop_tokens
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player
from gymposium_train.backends.engines import (
    RunEngine,
    make_engine_start,
    make_policy_name,
    open_engine,
    release_unused_memory,
)
from gymposium_train.backends.models import find_cold_start_model, format_player_name, load_run_model, make_chat
from gymposium_train.backends.protocol import BackendStart
from gymposium_train.backends.publishing.whole import HostedModelPublisher
from gymposium_train.learner.precision import choose_compute_type


@contextmanager
def open_run_player(
    start: BackendStart, name: str | Path, adapter: Path | None = None
) -> Iterator[LanguageModelPlayer]:
    """Provide a player, for evaluation, of a model of the run, or of an adapter on it. An engine of the run's kind
    samples its replies: the run's engine, unless it shares the learner's model.

    Raises `GymposiumError` if the engine cannot be made."""
    config, trust = start.config, start.config.model.trust
    with ExitStack() as resources:
        engine: HostingEngine
        if find_engine_spec(config.engine.kind).shares_learner:
            release_unused_memory()
            loaded = load_run_model(config, name, adapter)
            chat = loaded.chat
            engine = open_engine(config, make_engine_start(config, name, loaded.stops, loaded), resources)
        else:
            chat = make_chat(config, name)
            shared = start.engine or resources.enter_context(RunEngine(config, start.directory.path / "versions"))
            engine = _host_weights(start, shared, name, adapter, load_stop_tokens(name, chat, trust))
        yield make_engine_player(format_player_name(name, adapter), engine, chat, config.evaluated_player)


def _host_weights(
    start: BackendStart, shared: RunEngine, name: str | Path, adapter: Path | None, stops: frozenset[int]
) -> HostingEngine:
    """Return the run's engine, with a model of the run or an adapter as its current policy. An engine that training has
    opened, or a server elsewhere, has the model that training began with, or a later version of its weights."""
    config, directory = start.config, start.directory
    is_elsewhere, full = getattr(config.engine, "url", None) is not None, config.model.tune == "full"
    first = find_cold_start_model(directory, config) if full and (is_elsewhere or shared.is_open) else name
    policy = Policy(f"{make_policy_name(config, directory.path)}.{(adapter or Path(name)).name}", 0)
    engine = shared.open(make_engine_start(config, first, stops))
    if adapter is not None:
        engine.publish(adapter, policy)
    elif full and (is_elsewhere or name != first):
        if not isinstance(engine, WeightsHost):
            return shared.open(make_engine_start(config, name, stops))
        whole, dtype = load_run_model(config, name), choose_compute_type(config.optimizer.precision)
        HostedModelPublisher(
            whole, engine, directory.path, policy.name, dtype, config.model.trust, exchange=shared.exchange
        ).publish(policy)
    return engine
