"""The factory of the engine `vllm`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from gymposium.errors import BadOption
from gymposium_agents.engines.protocol import EngineStart
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import running_server, server_of_this_process
from gymposium_agents.engines.vllm.settings import ServerSettings, VllmSettings


def vllm_engine(start: EngineStart, settings: VllmSettings) -> VllmEngine:
    """Make an engine over the server at `settings.url`, or over a new server that ends with the engine.

    Raises `GymposiumError` if the server does not come up or serves another model, and for a player without a URL."""
    if start.load is not None and start.learner is None:
        raise BadOption("load= and engine= exclude each other: a server has loaded its model already.")
    with ExitStack() as resources:
        url, server = settings.url, server_of_this_process(settings.url or "")
        if url is None:
            server = resources.enter_context(running_server(server_settings(start, settings)))
            url = server.url
        engine = VllmEngine(
            url,
            model=start.model,
            stops=start.stops,
            server=server,
            at_once=settings.at_once,
            patience=settings.patience,
        )
        engine.owned.push(resources.pop_all())
        return engine


def server_settings(start: EngineStart, settings: VllmSettings) -> ServerSettings:
    """Return the settings of the server that a run starts: the learner's number type, room for its adapter's rank, and
    a slot for each version that one batch may name. With fewer slots vLLM would load versions again and again.

    Raises `BadOption` if the rank or the number of adapters is unknown: a player must name a server."""
    if start.lora_rank is None or start.versions is None:
        raise BadOption("engine=vllm: name a server by its URL, as in engine=http://127.0.0.1:8000, or use own.")
    return ServerSettings(
        model=str(Path(start.model).absolute()) if Path(start.model).is_dir() else start.model,
        lora_rank=start.lora_rank,
        max_loras=start.versions,
        dtype=start.dtype or "auto",
        devices=settings.devices,
        more=settings.arguments,
    )
