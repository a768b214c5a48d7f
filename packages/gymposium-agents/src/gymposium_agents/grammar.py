"""The player written `lm:MODEL@ADAPTER?options`.

Players of one model, loaded one way, share its weights while any of them lives: each adapter is hosted under a name of
its own, and each player's requests name whose weights are to answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast
from weakref import WeakValueDictionary

from gymposium.errors import BadOption
from gymposium_agents.engines.protocol import AdapterHost, TokenEngine
from gymposium_agents.identity import Origin
from gymposium_agents.loading import load_chat, load_model, player_directory, stop_tokens
from gymposium_agents.lora.files import CONFIG, WEIGHTS, read_adapter
from gymposium_agents.player import LanguageModelPlayer, over
from gymposium_agents.settings import PlayerSettings, boolean, parse_options
from gymposium_agents.sources import NO_TRUST, Trust
from gymposium_agents.tokens import BASE, Policy

if TYPE_CHECKING:
    from gymposium_agents.engines.vllm.engine import VllmEngine
    from gymposium_agents.engines.vllm.server import Server


class HostingEngine(TokenEngine, AdapterHost, Protocol):
    """A token engine that answers for several adapters."""


_engines: WeakValueDictionary[Hashable, HostingEngine] = WeakValueDictionary()
"""Engines that some player uses, by what they were made from."""
_making = Lock()
"""Players may be made in several threads, and are to share one engine there too."""
_servers: WeakValueDictionary[str, Server] = WeakValueDictionary()
"""Servers of this process, by their addresses."""
TRUST_OPTIONS = ("trust_remote_code", "allow_pickle")
"""Options of a player that say what its model's files may do (`Trust`), in order."""
SERVER_OPTIONS = {"at_once": int, "request_seconds": float, "token_seconds": float}
"""Options of a player that say how its server is asked, and their types."""


def language_model_player(model: str, adapter: str | None = None, options: str | None = None) -> LanguageModelPlayer:
    """The player written `lm:MODEL`, `lm:MODEL@ADAPTER` or either with options behind it. It is asked as it was trained
    to be, and greedily: `player.json` beside the adapter, or else beside the model, says how, and the options change
    it. Without both it gets the compact prompt and replies with the move. `load=4bit` quantizes the model;
    `trust_remote_code=true` runs Python code that it brings, and `allow_pickle=true` reads pickled weights; with
    `engine=URL` a vLLM server of the same model answers, and `at_once`, `request_seconds` and `token_seconds` say how
    it is asked (`Patience`).

    Raises `GymposiumError` with what to do for options that do not exist or do not go together, and for a model or
    adapter that is missing or not whole."""
    given = parse_options(options)
    directory = _adapter_directory(adapter)
    places = [place for place in (directory, player_directory(model)) if place is not None]
    settings = PlayerSettings.beside(*places).with_options(
        given, others=("engine", "load", *TRUST_OPTIONS, *SERVER_OPTIONS)
    )
    trust = Trust(*(boolean(name, given.get(name, "false")) for name in TRUST_OPTIONS))
    load, url = given.get("load"), given.get("engine")
    if load is not None and load != "4bit":
        raise BadOption(f"load={load!r}: write 4bit, or leave it out.")
    if load is not None and url is not None:
        raise BadOption("load= and engine= exclude each other: a server has loaded its model already.")
    asked = _server_options(given)
    if asked and url is None:
        raise BadOption(f"{next(iter(asked))}= says how a server is asked: name one with engine=URL, or leave it out.")
    chat = load_chat(model, thinking=settings.thinking, trust=trust)
    engine: HostingEngine
    if url is None:
        engine = in_process(model, load="4bit" if load else None, trust=trust)
    else:
        engine = on_server(url, model, trust=trust, **asked)
    policy = BASE
    if adapter is not None and directory is not None:
        policy = policy_of(adapter, directory)
        if policy not in engine.adapters:
            engine.publish(directory, policy)
    name = f"lm:{model}" + (f"@{adapter}" if adapter else "") + (f"?{options}" if options else "")
    origin = Origin(model, adapter, directory, load, served=url is not None, trust=trust)
    return over(name, engine, chat, settings, policy, origin)


def in_process(model: str, *, load: Literal["4bit"] | None = None, trust: Trust = NO_TRUST) -> HostingEngine:
    """The engine of a model in this process; the same one for all who ask while it is in use and its files are as they
    were."""
    key = ("in process", _files(model), load, trust)
    return _shared(key, lambda: load_model(model, load=load, trust=trust).engine())


def on_server(
    url: str,
    model: str,
    server: Server | None = None,
    *,
    trust: Trust = NO_TRUST,
    at_once: int | None = None,
    request_seconds: float | None = None,
    token_seconds: float | None = None,
) -> VllmEngine:
    """The engine of a vLLM server of this model; the same one for all who ask it in the same way while it is in use.
    Whoever started the server gives it here first, so that it is started again when it dies."""
    from gymposium_agents.engines.vllm.client import Patience
    from gymposium_agents.engines.vllm.engine import VllmEngine

    if server is not None:
        _servers[url] = server
    given = {"request": request_seconds, "token": token_seconds}
    wait = Patience(**{name: seconds for name, seconds in given.items() if seconds is not None})
    stops = stop_tokens(model, load_chat(model, trust=trust), trust)

    def make() -> VllmEngine:
        return VllmEngine(url, model=model, stops=stops, server=_servers.get(url), at_once=at_once, patience=wait)

    return cast(VllmEngine, _shared(("server", url, model, at_once, wait), make))


def _server_options(given: Mapping[str, str]) -> dict[str, Any]:
    """Those of a player's options that say how its server is asked. Raises `BadOption` for one that is no number."""
    found: dict[str, Any] = {}
    for name, kind in SERVER_OPTIONS.items():
        if name not in given:
            continue
        try:
            found[name] = kind(given[name])
        except ValueError:
            what = "a whole number" if kind is int else "a number of seconds"
            raise BadOption(f"{name}={given[name]!r}: write {what}.") from None
    if found.get("at_once", 1) < 1:
        raise BadOption(f"at_once={found['at_once']}: take 1 or more requests at once.")
    return found


def policy_of(adapter: str, directory: Path) -> Policy:
    """The name under which an adapter is hosted: its directory's, and a digest of its weights and config, so that two
    adapters never share one and one adapter has the same everywhere."""
    read_adapter(directory)
    digest = hashlib.sha256()
    for file in (CONFIG, WEIGHTS):
        with (directory / file).open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(adapter).resolve().name)
    return Policy(f"{name}-{digest.hexdigest()[:8]}")


def _adapter_directory(adapter: str | None) -> Path | None:
    if adapter is None:
        return None
    from gymposium_agents.lora.attach import adapter_directory  # PEFT takes three seconds to import

    return adapter_directory(adapter)


def _shared(key: Hashable, make: Callable[[], Any]) -> HostingEngine:
    with _making:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = cast(HostingEngine, make())
    return engine


def _files(model: str) -> Hashable:
    """A hub name, or a directory with the state of its files."""
    directory = Path(model)
    if not directory.is_dir():
        return model
    found = sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in directory.iterdir())
    return str(directory.resolve()), tuple(found)
