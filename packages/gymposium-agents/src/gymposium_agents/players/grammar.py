"""The player written `lm:MODEL@ADAPTER?options`.

Players of one model with equal settings share an engine, which lives as long as any of these players. The engine holds
each adapter under a unique name, and each player's requests name the policy that must answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable
from dataclasses import fields
from os.path import realpath
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from weakref import WeakValueDictionary

from gymposium.errors import BadOption
from gymposium.players.identity import digest_file
from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.host import host
from gymposium.plugins.specs import EngineSpec
from gymposium.records import Problem
from gymposium.runs.run import Run, is_run
from gymposium.util.durable import MARK
from gymposium.util.settings import NoSettings
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import PlayerSettings, convert_options, parse_boolean, parse_options
from gymposium_agents.chat.tokens import BASE, Policy
from gymposium_agents.engines.protocol import EngineStart, HostingEngine
from gymposium_agents.engines.registry import find_engine_spec, make_engine, read_engine_settings
from gymposium_agents.lora.files import CONFIG, WEIGHTS, read_adapter
from gymposium_agents.modeling.identity import Origin
from gymposium_agents.modeling.sources import NO_TRUST, Trust
from gymposium_agents.models.loading import check_load, find_player_directory, load_chat, load_stop_tokens
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player

_engines: WeakValueDictionary[Hashable, HostingEngine] = WeakValueDictionary()
"""The engines of living players, by the arguments of `find_player_engine`."""
_making = Lock()
"""Lock held while an engine is made, so that players in several threads share one engine."""
TRUST_OPTIONS = ("trust_remote_code", "allow_pickle")
"""The player options that set the fields of `Trust`, in order."""


def make_language_model_player(
    model: str, adapter: str | None = None, options: str | None = None
) -> LanguageModelPlayer:
    """Make the player written `lm:MODEL` or `lm:MODEL@ADAPTER`, with or without options. `lm:RUN` names the directory
    of a training run. It is the model that the run trained, with its adapter if there is one.

    `player.json` beside the adapter, or else beside the model, contains the settings of its training. Options override
    them. A model without that file gets the full prompt, replies in tags with optional thoughts, and greedy play
    (`PlayerSettings`).

    `load=4bit` quantizes the model, `trust_remote_code=true` runs Python code from its files, and `allow_pickle=true`
    reads pickled weights. `engine=URL` names a vLLM server of the same model, and `engine=NAME` any engine. The
    settings of that engine are options, too.

    Raises `GymposiumError` with the fix for unknown or conflicting options, and for a missing or incomplete model or
    adapter."""
    values = parse_options(options)
    name = f"lm:{model}" + (f"@{adapter}" if adapter else "") + (f"?{options}" if options else "")
    if adapter is None and is_run(Path(model)):
        model, adapter = find_trained_model(Path(model))
    directory = None
    if adapter is not None:
        from gymposium_agents.lora.attach import find_adapter_directory  # torch takes seconds to import

        directory = find_adapter_directory(adapter)
    places = [place for place in (directory, find_player_directory(model)) if place is not None]
    spec, implied = _parse_engine(values.get("engine"))
    kind = host().settings(spec)
    of_engine = [field.name for field in fields(kind)]
    others = ("engine", "load", *TRUST_OPTIONS, *of_engine)
    settings = PlayerSettings.beside(*places).with_options(values, others=others)
    trust = Trust(*(parse_boolean(name, values.get(name, "false")) for name in TRUST_OPTIONS))
    load = check_load(values.get("load"))
    own = convert_options(kind, [(name, value) for name, value in values.items() if name in of_engine])
    if settings.pictures != "none" and spec.name != "own":
        raise BadOption(f"prompt={settings.pictures} requires the model in this process. Omit engine=.")
    chat = load_chat(model, thinking=settings.thinking, history=settings.history, trust=trust, sees=spec.name == "own")
    if settings.pictures != "none" and chat.sight is None:
        raise BadOption(
            f"prompt={settings.pictures}: the model {model!r} does not see. Use prompt=full, or another model."
        )
    engine = find_player_engine(
        spec, model, chat, read_engine_settings(f"engine={spec.name}", spec, own | implied), load, trust
    )
    policy = BASE
    if adapter is not None and directory is not None:
        policy = name_policy(adapter, directory)
        if policy not in engine.adapters:
            engine.publish(directory, policy)
    origin = Origin(model, adapter, directory, load, spec.label or spec.name, trust)
    return make_engine_player(name, engine, chat, settings, policy, origin)


def find_trained_model(run: Path) -> tuple[str, str | None]:
    """Return the model that a run has trained, and its adapter if it trained a LoRA. Without a result of reinforcement
    learning, it is the model after the cold start.

    Raises `BadOption` for a run without a complete result."""
    complete = {name for name in ("model", "adapter", "cold_start", "base") if (run / name / MARK).is_file()}
    if "model" in complete:
        return str(run / "model"), None
    start = next((str(run / name) for name in ("cold_start", "base") if name in complete), None)
    if "adapter" in complete:
        return start or _read_base_model(run), str(run / "adapter")
    if "cold_start" not in complete:
        raise BadOption(
            f"The run {run} has not trained a model yet. Resume it:  "
            + format_command_line("train", "--resume", str(run))
        )
    return str(run / "cold_start"), None


def _read_base_model(run: Path) -> str:
    config = Run(run.name, run).config()
    match config:
        case {"model": {"name": str(name)}}:
            return name
    why = config if isinstance(config, Problem) else f"{run / 'config.json'} has no model.name"
    raise BadOption(f"Cannot find the model of the run {run}: {why}. Name the model instead: lm:MODEL")


def find_shared_engine(model: str) -> HostingEngine:
    """Return the engine of a model in this process, shared with all players of `lm:MODEL`."""
    return find_player_engine(find_engine_spec("own"), model, load_chat(model), NoSettings())


def find_player_engine(
    spec: EngineSpec,
    model: str,
    chat: Chat,
    settings: Any,
    load: Literal["4bit"] | None = None,
    trust: Trust = NO_TRUST,
) -> HostingEngine:
    """Return the engine of this kind for a model. Calls with equal arguments share one engine while it is in use and
    the model's files are unchanged. Raises the errors of the engine's factory."""
    key = (spec.name, _make_files_key(model), settings, load, trust)
    with _making:
        engine = _engines.get(key)
        if engine is None:
            start = EngineStart(model=model, stops=load_stop_tokens(model, chat, trust), trust=trust, load=load)
            engine = _engines[key] = make_engine(spec, start, settings)
    return engine


def _parse_engine(text: str | None) -> tuple[EngineSpec, dict[str, str]]:
    """Return the engine named by the option `engine`, and the settings implied by it."""
    if text is not None and "://" in text:
        return find_engine_spec("vllm"), {"url": text}
    return find_engine_spec(text or "own"), {}


def name_policy(adapter: str, directory: Path) -> Policy:
    """Return the name of an adapter in an engine: the name of its directory and a digest of its weights and config.
    Different adapters never share a name, and an adapter has the same name everywhere.

    Raises `GymposiumError` if the directory has no adapter."""
    read_adapter(directory)
    digests = (digest_file(directory / file).removeprefix("sha256:") for file in (CONFIG, WEIGHTS))
    digest = hashlib.sha256(bytes.fromhex("".join(digests))).hexdigest()
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(realpath(adapter)).name)
    return Policy(f"{name}-{digest[:8]}")


def _make_files_key(model: str) -> Hashable:
    """Return a key for a model's files: a hub name, or a directory with the state of its files."""
    directory = Path(model)
    if not directory.is_dir():
        return model
    # a link may lead nowhere
    states = ((file.name, file.stat(follow_symlinks=file.exists())) for file in directory.iterdir())
    files = sorted((name, state.st_mtime_ns, state.st_size) for name, state in states)
    return realpath(directory), tuple(files)
