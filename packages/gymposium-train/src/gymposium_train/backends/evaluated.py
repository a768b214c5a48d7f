"""Players of the models that a run saved, for evaluation. The run's engine samples their replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import EngineStart, WeightsHost
from gymposium_agents.engines.registry import find_engine_spec
from gymposium_agents.models.loading import load_stop_tokens
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player
from gymposium_train.backends.models import find_cold_start_model, format_player_name, load_run_model, make_chat
from gymposium_train.backends.publishing.make import (
    make_exchange,
    make_policy_name,
    name_compute_type,
    open_engine,
    release_unused_memory,
)
from gymposium_train.backends.publishing.whole import HostedModelPublisher
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.learner.precision import choose_compute_type


@contextmanager
def open_run_player(
    directory: RunDirectory, config: TrainConfig, name: str | Path, adapter: Path | None = None
) -> Iterator[LanguageModelPlayer]:
    """Provide a player, for evaluation, of a model of the run, or of an adapter on it. The player's replies are sampled
    by an engine of the run's kind, which is closed after the block.

    Raises `GymposiumError` if the engine cannot be made."""
    trust, shares = config.model.trust, find_engine_spec(config.engine.kind).shares_learner
    is_elsewhere = getattr(config.engine, "url", None) is not None
    with ExitStack() as resources:
        release_unused_memory()
        loaded = load_run_model(config, name, adapter) if shares else None
        chat = make_chat(config, name) if loaded is None else loaded.chat
        start = EngineStart(
            model=str(find_cold_start_model(directory, config) if is_elsewhere else name),
            stops=load_stop_tokens(name, chat, trust),
            trust=trust,
            load=config.model.load,
            dtype=name_compute_type(config),
            lora_rank=config.model.lora.rank if adapter is not None else 0,
            versions=1,
            learner=loaded,
        )
        engine = open_engine(config, start, resources)
        policy = Policy(f"{make_policy_name(config, directory.path)}.{(adapter or Path(name)).name}", 0)
        if is_elsewhere and config.model.tune == "full" and isinstance(engine, WeightsHost):
            exchange = make_exchange(config, directory.path / "versions", resources)
            whole, dtype = load_run_model(config, name), choose_compute_type(config.optimizer.precision)
            HostedModelPublisher(whole, engine, directory.path, policy.name, dtype, trust, exchange=exchange).publish(
                policy
            )
        elif adapter is not None and loaded is None:
            engine.publish(adapter, policy)
        yield make_engine_player(format_player_name(name, adapter), engine, chat, config.evaluated_player)
