"""The vLLM server of a run: one of its own, or one that is there already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gymposium_agents.engines.vllm.client import Patience
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import running_server
from gymposium_agents.engines.vllm.settings import ServerSettings
from gymposium_agents.loading import LoadedModel, stop_tokens
from gymposium_train.config import TrainConfig


@contextmanager
def server_engine(config: TrainConfig, loaded: LoadedModel, base: str) -> Iterator[VllmEngine]:
    """The engine over a server of the model `base`, which the learner's adapter is trained on."""
    stops, settings = stop_tokens(base, loaded.chat, loaded.trust), config.engine
    wait = Patience(request=settings.request_seconds, token=settings.token_seconds)
    with ExitStack() as resources:
        if settings.url is not None:
            server, url = None, settings.url
        else:
            server = resources.enter_context(running_server(server_settings(config, loaded, base)))
            url = server.url
        engine = VllmEngine(url, model=base, stops=stops, server=server, at_once=settings.at_once, patience=wait)
        yield resources.enter_context(engine)


def server_settings(config: TrainConfig, loaded: LoadedModel, base: str) -> ServerSettings:
    """What a server needs for this run: the learner's number type, room for its adapter's rank, and a slot for each
    version that may be asked for in one batch. vLLM would else throw versions out of slots and load them again."""
    return ServerSettings(
        model=str(Path(base).absolute()) if Path(base).is_dir() else base,
        lora_rank=config.model.lora.rank,
        max_loras=versions_at_once(config),
        dtype=str(loaded.model.dtype).removeprefix("torch."),
        devices=config.engine.devices,
        more=config.engine.arguments,
    )


def versions_at_once(config: TrainConfig) -> int:
    """So many versions may be played at once: those that rollouts may be behind, the newest, one that is just being
    published, and those of the past."""
    past = any("past" in stage.opponents for stage in config.stages)
    return config.engine.staleness + 2 + (config.pool.size if past else 0)
