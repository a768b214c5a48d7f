"""The factory of the engine `vllm`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from gymposium.errors import BadOption
from gymposium_agents.engines.protocol import EngineStart
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import run_servers
from gymposium_agents.engines.vllm.settings import ServerSettings, VllmSettings, divide_devices


def make_vllm_engine(start: EngineStart, settings: VllmSettings) -> VllmEngine:
    """Make an engine over the servers at `settings.url`, or over new servers that end with the engine.

    Raises `GymposiumError` if a server does not start or serves another model, and for a player without a URL."""
    if start.load is not None and not start.is_for_run:
        raise BadOption("load= and engine= conflict, because a server has already loaded its model. Omit one of them.")
    with ExitStack() as resources:
        urls = settings.urls
        if not urls:
            servers = resources.enter_context(run_servers(make_server_settings(start, settings)))
            urls = tuple(server.url for server in servers)
        engine = VllmEngine(
            *urls,
            model=start.model,
            stops=start.stops,
            at_once=settings.at_once,
            patience=settings.patience,
            seeded=not start.is_for_run if settings.reproducible is None else settings.reproducible,
        )
        engine.owned.push(resources.pop_all())
        return engine


def make_server_settings(start: EngineStart, settings: VllmSettings) -> list[ServerSettings]:
    """Return the settings of the servers that a run starts. They have the learner's number type, a sufficient adapter
    rank, and a slot for each version in a batch. With fewer slots, vLLM would reload versions again and again.

    Raises `BadOption` if the rank or the number of adapters is unknown, because a player must name a server."""
    if start.lora_rank is None or start.versions is None:
        raise BadOption("engine=vllm needs a server. Name it by URL, such as engine=http://127.0.0.1:8000, or use own.")
    one = ServerSettings(
        model=str(Path(start.model).absolute()) if Path(start.model).is_dir() else start.model,
        lora_rank=start.lora_rank,
        max_loras=start.versions,
        dtype=start.dtype or "auto",
        more=settings.arguments,
    )
    return [replace(one, devices=devices) for devices in divide_devices(settings.devices, settings.servers)]
