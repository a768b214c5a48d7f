"""Making of a command's players. With `--start-server`, they use a vLLM server that runs until the command ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from gymposium.cli.text import print_note, show_status
from gymposium.errors import BadOption, UnknownName
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.plugins.allowed import check_allowed
from gymposium.plugins.host import host
from gymposium_agents.chat.settings import convert_options, parse_options
from gymposium_agents.players.presets import add_defaults

if TYPE_CHECKING:
    from gymposium_agents.engines.vllm.settings import ServerSettings

ServerOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--server-option",
        metavar="NAME=VALUE",
        help=(
            "Configure the server of --start-server: lora_rank, max_loras, dtype, max_model_len, max_num_seqs, "
            "kv_cache_gib, port, devices=GPU, or more=ARGUMENT for vLLM options. servers=N starts N servers and "
            "divides the devices (repeatable)"
        ),
    ),
]


def find_powerful_options(options: Sequence[str]) -> list[str]:
    """Return the server options in a run's settings that need the user's permission. vLLM's own options may name code
    and files."""
    return [option for option in options if option.partition("=")[0] == "more"]


def check_server_options(options: Sequence[str]) -> None:
    """Raise `PermissionRequired` for server options in a run's settings that need permission."""
    for option in find_powerful_options(options):
        check_allowed(option, "it opens whatever the server's options name")


@contextmanager
def open_players(
    texts: Sequence[str], options: Sequence[str] | None, *, start_server: bool
) -> Iterator[dict[str, Player]]:
    """Yield the players by text, one per distinct text. With `start_server`, language models play through servers that
    run during the block. They must share one model, and keep their texts as names.

    Raises `GymposiumError` if there is no language model to serve, or vLLM is not installed."""
    texts = list(dict.fromkeys(texts))
    if not start_server:
        if options:
            raise BadOption(f"--server-option {options[0]} has no effect without --start-server. Add --start-server.")
        with show_status(f"Loading {', '.join(texts)}"):
            players = {text: make_player(text) for text in texts}
        yield players
        return
    served = {text: groups for text in texts if (groups := _parse_language_model(text)) is not None}
    models = sorted({str(groups["model"]) for groups in served.values()})
    if len(models) != 1:
        what = f"{', '.join(models)} would each need one" if models else "no player is written lm:MODEL"
        raise BadOption(
            f"--start-server serves a single model, but {what}. Write all language models as lm:MODEL with one model."
        )
    # imported here because it takes a while
    from gymposium_agents.engines.registry import find_engine_spec
    from gymposium_agents.engines.vllm.server import run_servers
    from gymposium_agents.engines.vllm.settings import VllmSettings
    from gymposium_agents.models.loading import load_chat
    from gymposium_agents.players.grammar import find_player_engine

    rank = max(_read_rank(groups["adapter"]) for groups in served.values())
    model, settings = models[0], make_server_settings(models[0], rank, options or ())
    print_note(f"Starting {'a vLLM server' if len(settings) == 1 else f'{len(settings)} vLLM servers'} for {model} …")
    with run_servers(settings) as servers:
        for server in servers:
            print_note(f"It is ready at {server.url}. Log: {server.log}")
        urls = ",".join(server.url for server in servers)
        # the players' shared engine is closed before the servers end
        with closing(find_player_engine(find_engine_spec("vllm"), model, load_chat(model), VllmSettings(urls))):
            players = {}
            for text in texts:
                players[text] = make_player(add_defaults(text, {"engine": urls}) if text in served else text)
                players[text].name = text
            yield players


def make_server_settings(model: str, rank: int, options: Sequence[str]) -> list[ServerSettings]:
    """Parse the settings of a model's servers from `NAME=VALUE` texts, and return one object per server. `rank` is the
    highest rank of adapters. Raises `BadOption` or `UnknownName`."""
    from gymposium_agents.engines.vllm.settings import ServerSettings, VllmSettings, divide_devices

    known = {field.name for field in fields(ServerSettings)} - {"model"} | {"servers"}
    pairs = []
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise BadOption(f"Invalid --server-option {option}. Write NAME=VALUE.")
        if name not in known:
            raise UnknownName("server setting", name, known)
        pairs.append((name, value))
    number = convert_options(VllmSettings, [pair for pair in pairs if pair[0] == "servers"])
    servers = VllmSettings(**number).servers
    values = {"lora_rank": rank} | convert_options(ServerSettings, [pair for pair in pairs if pair[0] != "servers"])
    if servers > 1 and values.get("port"):
        raise BadOption(f"--server-option port={values['port']}: {servers} servers cannot share a port. Omit it.")
    devices = divide_devices(values.pop("devices", ()), servers)
    return [ServerSettings(model, devices=own, **values) for own in devices]


def _parse_language_model(text: str) -> Mapping[str, str | None] | None:
    """Return the parts of a player's text `lm:MODEL@ADAPTER` by name. Returns None for other players, and for a player
    with an `engine` option."""
    groups = host().opponents["lm"].parse(text)
    return None if groups is None or "engine" in parse_options(groups["options"]) else groups


def _read_rank(adapter: str | None) -> int:
    """Return the rank of a LoRA adapter, or 0 without one."""
    if adapter is None:
        return 0
    # PEFT takes three seconds to import
    from gymposium_agents.lora.attach import find_adapter_directory
    from gymposium_agents.lora.files import read_adapter

    return read_adapter(find_adapter_directory(adapter)).rank
