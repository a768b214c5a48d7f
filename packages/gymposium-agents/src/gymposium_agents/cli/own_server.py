"""The players of a command, with `--start-server` on a vLLM server that is started before they play and stopped when
the command ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from typing import Annotated, Any

import typer

from gymposium.cli.text import note
from gymposium.errors import BadOption, UnknownName
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.plugins.host import host
from gymposium_agents.presets import with_defaults
from gymposium_agents.settings import parse_options, typed_options

ServerOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--server-option",
        metavar="NAME=VALUE",
        help="A setting of the server that --start-server starts: lora_rank, max_loras, dtype, max_model_len, "
        "max_num_seqs, kv_cache_gib, port, devices=GPU, or more=ARGUMENT for vLLM's own. May be given again.",
    ),
]


@contextmanager
def seated_players(
    texts: Sequence[str], options: Sequence[str] | None, *, start_server: bool
) -> Iterator[dict[str, Player]]:
    """The players with these texts, by their texts; equal texts are one player. With `start_server`, language models
    play through a server that runs during the block. They must be of one model, and keep their texts as names.

    Raises `GymposiumError` if there is no language model to serve, or vLLM is not installed."""
    texts = list(dict.fromkeys(texts))
    if not start_server:
        if options:
            raise BadOption("--server-option is for a server that --start-server starts.")
        yield {text: make_player(text) for text in texts}
        return
    served = {text: groups for text in texts if (groups := _language_model(text)) is not None}
    models = sorted({str(groups["model"]) for groups in served.values()})
    if len(models) != 1:
        what = f"{', '.join(models)} would need one each" if models else "no player is written lm:MODEL"
        raise BadOption(f"--start-server starts one server, for one model, but {what}.")
    # imported here because they take a while to import
    from gymposium_agents.engines.registry import engine_spec
    from gymposium_agents.engines.vllm.server import running_server
    from gymposium_agents.engines.vllm.settings import ServerSettings, VllmSettings
    from gymposium_agents.grammar import player_engine
    from gymposium_agents.loading import load_chat

    rank = max(_rank(groups["adapter"]) for groups in served.values())
    settings = ServerSettings(models[0], **({"lora_rank": rank} | read_server_options(options or ())))
    note(f"Starting a vLLM server for {models[0]} …")
    with running_server(settings) as server:
        note(f"It answers at {server.url}; its log is {server.log}")
        model = settings.model
        # the engine that the players share is closed before the server ends
        with closing(player_engine(engine_spec("vllm"), model, load_chat(model), VllmSettings(server.url))):
            players = {}
            for text in texts:
                players[text] = make_player(with_defaults(text, {"engine": server.url}) if text in served else text)
                players[text].name = text
            yield players


def read_server_options(options: Sequence[str]) -> dict[str, Any]:
    """The settings of a server from texts `NAME=VALUE`. Raises `BadOption` or `UnknownName`."""
    from gymposium_agents.engines.vllm.settings import ServerSettings

    known = {field.name for field in fields(ServerSettings)} - {"model"}
    pairs = []
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise BadOption(f"--server-option {option}: write NAME=VALUE.")
        if name not in known:
            raise UnknownName("setting of a server", name, known)
        pairs.append((name, value))
    return typed_options(ServerSettings, pairs)


def _language_model(text: str) -> Mapping[str, str | None] | None:
    """The groups of `lm:MODEL@ADAPTER`, or None for any other player and for one with an option `engine`."""
    groups = host().opponents["lm"].parse(text)
    return None if groups is None or "engine" in parse_options(groups["options"]) else groups


def _rank(adapter: str | None) -> int:
    """The rank of a LoRA adapter; 0 without one."""
    if adapter is None:
        return 0
    # PEFT takes three seconds to import
    from gymposium_agents.lora.attach import adapter_directory
    from gymposium_agents.lora.files import read_adapter

    return read_adapter(adapter_directory(adapter)).rank
