"""The command `gymposium engine`, which sets up vLLM and runs its servers."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Column, Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_note, show_status
from gymposium.errors import BadOption

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="Set up vLLM and run its servers."
)


@command.callback()
def _group() -> None:
    """Set up vLLM as the engine of language-model players, and run its servers."""


@command.command("setup")
def set_up_engine(
    build: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Select the build (auto: cuda if there is an NVIDIA GPU)")
    ] = "auto",
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Install here instead of in GYMPOSIUM_ENGINE_HOME")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Install vLLM in a separate virtual environment.

    The location is --into, or else GYMPOSIUM_ENGINE_HOME, or else gymposium/engines/vllm in your data directory
    (~/.local/share). The versions are those gymposium was tested with. A complete installation is kept. An incomplete
    one is replaced. To use a location given with --into, set GYMPOSIUM_ENGINE_HOME to it.

    Examples:

    \b
    gymposium engine setup
    gymposium engine setup --build cpu --into /data/vllm
    """
    from gymposium_agents.engines.vllm.home import find_engine_home
    from gymposium_agents.engines.vllm.setup import choose_build, set_up

    home = find_engine_home(into)
    noted = set_up(home, choose_build(build), say=print_note)
    if as_json:
        print_json({"home": str(home.root), **noted})


@command.command("start", context_settings={"allow_extra_args": True})
def start_server(
    context: typer.Context,
    model: Annotated[str, typer.Option(help="Serve this model directory or hub name")],
    lora: Annotated[bool, typer.Option("--lora", help="Accept LoRA adapters up to rank 32")] = False,
    lora_rank: Annotated[
        int | None, typer.Option(min=1, help="Accept LoRA adapters up to this rank (implies --lora)")
    ] = None,
    max_loras: Annotated[int, typer.Option(min=1, help="Limit the number of adapters in one batch")] = 4,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Listen on this port (0 for a free port)")] = 8123,
    host: Annotated[
        str, typer.Option(help="Listen on this address. All but loopback addresses need a key in GYMPOSIUM_ENGINE_KEY")
    ] = "127.0.0.1",
    dtype: Annotated[
        str, typer.Option(help=("Compute in this number type (auto: float32 on a CPU, the checkpoint's type on a GPU)"))
    ] = "auto",
    max_model_len: Annotated[
        int | None,
        typer.Option(min=1, help="Limit prompt and reply together to this many tokens. Default: the model's limit"),
    ] = None,
    max_num_seqs: Annotated[
        int | None,
        typer.Option(min=1, help="Limit the number of concurrent requests \\[default: 256; 64 with the CPU build]"),
    ] = None,
    kv_cache_gib: Annotated[
        int, typer.Option(min=1, help=("Reserve this much memory for the key-value cache on a CPU"))
    ] = 2,
) -> None:
    """Start a vLLM server and supervise it until Ctrl-C.

    When the server is ready, the name of a player that uses it is printed. If the server dies, it is restarted with
    increasing delays. It ends when this command ends for any reason. Arguments after -- are passed to vLLM.

    This command and every client read the key from GYMPOSIUM_ENGINE_KEY.

    Examples:

    \b
    gymposium engine start --model Qwen/Qwen3-0.6B
    gymposium engine start --model runs/first/cold_start --lora-rank 8 --port 8200
    gymposium engine start --model Qwen/Qwen3-8B -- --tensor-parallel-size 2
    """
    from gymposium_agents.engines.vllm.home import find_engine_home
    from gymposium_agents.engines.vllm.running import keep_note
    from gymposium_agents.engines.vllm.server import Server
    from gymposium_agents.engines.vllm.settings import ServerSettings

    home = find_engine_home()
    settings = ServerSettings(
        model=model,
        lora_rank=lora_rank or (32 if lora else 0),
        max_loras=max_loras,
        host=host,
        port=port,
        dtype=dtype,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        kv_cache_gib=kv_cache_gib,
        more=tuple(context.args),
    )
    server = Server(settings, home)
    ended = threading.Event()
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        print_note(f"Starting vLLM with {model}. Log: {server.log}")
        with keep_note(server, home):
            with show_status("Loading the model"):
                server.start()
            print_note("Ready. Press Ctrl-C to stop it. Player that uses it:")
            make_stdout_console().print(f"lm:{model}?engine={server.url}", soft_wrap=True)
            while not ended.wait(1.0):
                if not server.alive:
                    print_note("The server died. Restarting it.")
                    server.restart()
                    print_note("Ready again.")
    except KeyboardInterrupt:
        print_note("Stopping the server.")
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # the server is already being stopped
        server.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


@command.command("status")
def show_servers(as_json: JsonOption = False) -> None:
    """Show the installation and the servers supervised by gymposium engine start.

    Examples:

    \b
    gymposium engine status
    gymposium engine status --json
    """
    from dataclasses import asdict

    from gymposium_agents.engines.vllm.home import find_engine_home
    from gymposium_agents.engines.vllm.running import is_answering, list_running_servers

    home = find_engine_home()
    installed = home.installed()
    servers = [(running, "ready" if is_answering(running) else "not ready") for running in list_running_servers(home)]
    if as_json:
        shown = [{**asdict(running), "state": state} for running, state in servers]
        print_json({"home": str(home.root), "installed": installed, "servers": shown})
        return
    version = f"vLLM {installed['version']}, {installed['build']} build" if installed else "nothing is installed"
    make_stdout_console().print(f"{home.root}: {version}", soft_wrap=True)
    if not servers:
        make_stdout_console().print("No server is running.")
        return
    table = Table(
        *(Column(heading, overflow="fold") for heading in ("port", "state", "model", "adapters", "log")), box=None
    )
    for running, state in servers:
        adapters = f"to rank {running.lora_rank}" if running.lora_rank else "none"
        table.add_row(str(running.port), state, running.model, adapters, running.log)
    make_stdout_console().print(table)


@command.command("stop")
def stop_servers(
    port: Annotated[int | None, typer.Option(help="Stop the server on this port, if several are running")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop all servers")] = False,
    as_json: JsonOption = False,
) -> None:
    """Stop a server supervised by gymposium engine start.

    Examples:

    \b
    gymposium engine stop
    gymposium engine stop --port 8200
    """
    from gymposium_agents.engines.vllm.home import find_engine_home
    from gymposium_agents.engines.vllm.running import end_server, list_running_servers

    chosen = [running for running in list_running_servers(find_engine_home()) if port in (None, running.port)]
    if not chosen:
        where = f" on port {port}" if port is not None else ""
        raise BadOption(f"No server is running{where}. List the running ones with gymposium engine status.")
    if len(chosen) > 1 and not everything:
        ports = ", ".join(str(running.port) for running in chosen)
        raise BadOption(f"Several servers are running (ports {ports}). Choose one with --port, or all with --all.")
    for running in chosen:
        end_server(running)
        print_note(f"Stopped the server at {running.url}.")
    if as_json:
        print_json({"ended": [running.url for running in chosen]})
