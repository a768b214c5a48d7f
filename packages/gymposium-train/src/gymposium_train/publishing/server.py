"""The vLLM server of a run: one of its own, or one that is there already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import running_server
from gymposium_agents.engines.vllm.settings import ServerSettings
from gymposium_agents.loading import LoadedModel, stop_tokens
from gymposium_train.config import TrainConfig


@contextmanager
def server_engine(config: TrainConfig, loaded: LoadedModel, base: str) -> Iterator[VllmEngine]:
    """The engine over a server of the model `base`, which the learner's adapter is trained on."""
    stops = stop_tokens(base, loaded.chat)
    if config.engine.url is not None:
        with VllmEngine(config.engine.url, model=base, stops=stops) as engine:
            yield engine
        return
    with (
        running_server(server_settings(config, loaded, base)) as server,
        VllmEngine(server.url, model=base, stops=stops, server=server) as engine,
    ):
        yield engine


def server_settings(config: TrainConfig, loaded: LoadedModel, base: str) -> ServerSettings:
    """What a server needs for this run: the learner's number type, room for its adapter's rank, and a slot for each
    version that may be asked for in one batch. vLLM would else throw versions out of slots and load them again."""
    return ServerSettings(
        model=str(Path(base).absolute()) if Path(base).is_dir() else base,
        lora_rank=config.model.lora.rank,
        max_loras=versions_at_once(config),
        dtype=str(loaded.model.dtype).removeprefix("torch."),
        more=config.engine.arguments,
    )


def versions_at_once(config: TrainConfig) -> int:
    """So many versions may be played at once: those that rollouts may be behind, the newest, one that is just being
    published, and those of the past."""
    past = any("past" in stage.opponents for stage in config.stages)
    return config.engine.staleness + 2 + (config.pool.size if past else 0)
