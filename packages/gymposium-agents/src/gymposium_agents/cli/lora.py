"""The command `gymposium lora`: adapters after training. Only `merge` imports torch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_note, print_text, show_status
from gymposium.errors import GymposiumError
from gymposium.util.writable import check_writable
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.lora.store import list_stores

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="Manage LoRA adapters after training."
)

StoreArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of published adapters")]


@command.callback()
def _group() -> None:
    """Manage LoRA adapters after training: list, roll back, show, merge, push to the hub."""


@command.command("list")
def list_adapters(directory: StoreArgument, as_json: JsonOption = False) -> None:
    """List the versions in a directory of published adapters, and mark the current one.

    A version is the number of optimizer steps behind its weights. Each version is an ordinary adapter in its own
    directory. Play it as lm:MODEL@DIR/learner-v000012.

    Examples:

    \b
    gymposium lora list adapters
    gymposium lora list adapters --json
    """
    adapters = [
        {
            "name": store.name,
            "version": policy.version,
            "current": policy == store.current(),
            "path": str(store.path(policy)),
        }
        for store in list_stores(directory)
        for policy in store.list()
    ]
    if as_json:
        print_json({"directory": str(directory), "adapters": adapters})
        return
    table = Table("name", "version", "", Column("path", overflow="fold"), box=None)
    for row in adapters:
        table.add_row(str(row["name"]), str(row["version"]), "current" if row["current"] else "", str(row["path"]))
    make_stdout_console().print(table)


@command.command("rollback")
def roll_back(
    directory: StoreArgument,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Version from gymposium lora list")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Select this adapter, if DIR has several")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make another version the current one. Nothing is deleted, so a later version can become current again.

    Examples:

    \b
    gymposium lora rollback adapters 10
    gymposium lora rollback adapters 10 --name critic
    """
    chosen = [store for store in list_stores(directory) if name in (None, store.name)]
    if len(chosen) != 1:
        names = ", ".join(store.name for store in list_stores(directory))
        raise GymposiumError(f"{directory} contains the adapters {names}. Choose one with --name.")
    [store] = chosen
    policy = Policy(store.name, version)
    store.roll_back(policy)
    if as_json:
        print_json({"name": store.name, "version": version, "path": str(store.path(policy))})
        return
    print_note(f"{store.name}: version {version} is now current.")


@command.command("show")
def show_adapter(
    adapter: Annotated[Path, typer.Argument(metavar="ADAPTER", help="Directory of an adapter")],
    as_json: JsonOption = False,
) -> None:
    """Show an adapter's base model, rank, layers, size and player settings, and whether vLLM can serve it.

    Examples:

    \b
    gymposium lora show runs/first/adapter
    gymposium lora show adapters/learner-v000012 --json
    """
    from gymposium_agents.lora.card import read_player_settings
    from gymposium_agents.lora.files import list_unservable_features, read_adapter

    files = read_adapter(adapter)
    reasons = list_unservable_features(files.config, files.shapes)
    settings = read_player_settings(adapter)
    targets = sorted({name.rpartition(".")[2] for name in files.layers})
    if as_json:
        print_json({
            "adapter": str(adapter),
            "base": files.base,
            "rank": files.rank,
            "alpha": files.alpha,
            "layers": len(files.layers),
            "targets": targets,
            "parameters": files.parameters,
            "types": list(files.dtypes),
            "player": settings,
            "vllm": not reasons,
            "vllm_reasons": reasons,
        })  # fmt: skip
        return
    asked = ", ".join(f"{name} {value}" for name, value in settings.items())
    for line in (
        f"base model   {files.base or 'not said'}",
        f"rank         {files.rank}, alpha {files.alpha:g}",
        f"layers       {len(files.layers)}: {', '.join(targets)}",
        f"size         {files.parameters:,} parameters, {', '.join(files.dtypes)}",
        f"asked with   {asked or 'not said (no player.json): as any model is'}",
        f"vLLM         {'no: ' + '; '.join(reasons) if reasons else 'can serve it'}",
    ):
        print_text(make_stdout_console(), line)


@command.command("merge")
def merge(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Base model: a directory or a hub name")],
    adapter: Annotated[str, typer.Argument(metavar="ADAPTER", help="Adapter: a directory or a hub name")],
    directory: Annotated[Path, typer.Argument(metavar="OUT", help="Output directory, empty or new")],
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run Python code from the base model's files, with your rights")
    ] = False,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Read pickled weights (.bin) of the base model")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Merge an adapter into its base model's weights, for servers that do not support adapters.

    The sum is computed in float32 and saved in the base model's number type, with its tokenizer and the settings in its
    player.json. A quantized base is rejected, because the merge would round away what was learned.

    Examples:

    \b
    gymposium lora merge runs/first/cold_start runs/first/adapter merged
    gymposium eval lm:merged --game tic_tac_toe
    """
    check_writable("OUT", directory)
    from gymposium_agents.modeling.sources import Trust
    from gymposium_agents.models.merge import merge_lora  # torch

    trust = Trust(trust_remote_code, allow_pickle)
    with show_status(f"Merging {adapter} into {model}"):
        merged = merge_lora(model, adapter, directory, trust=trust)
    if as_json:
        print_json({"model": str(merged)})
        return
    print_note(f"Merged into {merged}")


@command.command("push")
def push(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of an adapter or a merged model")],
    repo: Annotated[str, typer.Argument(metavar="REPO", help="Repository on the hub, such as alice/tic-tac-toe")],
    private: Annotated[bool, typer.Option("--private", help="Create a private repository")] = False,
    revision: Annotated[str | None, typer.Option(metavar="BRANCH", help="Push to this branch instead of main")] = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="Use this commit message")
    ] = None,
    base: Annotated[
        str | None, typer.Option(metavar="REPO", help="Name the base model's hub repository in the card")
    ] = None,
    game: Annotated[str | None, typer.Option(metavar="GAME", help="Name the trained game in the card")] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help=("Take facts for the card from this training run. Default: the run that contains DIR")
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Push an adapter or a merged model to the hub, in one commit.

    The repository is created if it does not exist. A README.md in the directory is pushed, too. Without one, a card is
    made from the files, the training run (training and evaluation), --base and --game. Log in with hf auth login, or
    set HF_TOKEN. The token is not written to any file. HF_ENDPOINT selects another hub.

    Examples:

    \b
    gymposium lora push runs/first/adapter alice/tic-tac-toe --private --game tic_tac_toe
    gymposium lora push merged alice/tic-tac-toe-merged --base Qwen/Qwen3-0.6B --run runs/first
    """
    from gymposium_agents.lora.hub import push_to_hub

    pushed = push_to_hub(
        directory, repo, private=private, revision=revision, message=message, base=base, game=game, run=run
    )
    if as_json:
        print_json(asdict(pushed))
        return
    print_text(make_stdout_console(), f"Pushed {', '.join(pushed.files)}")
    if pushed.left_out:
        print_text(make_stdout_console(), f"Left out {', '.join(pushed.left_out)}")
    print_text(make_stdout_console(), pushed.url)
