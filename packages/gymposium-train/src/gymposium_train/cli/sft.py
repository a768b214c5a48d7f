"""The command `gymposium sft`."""

from __future__ import annotations

from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption
from gymposium.cli.resume import OutOption, ResumeOption, reject_options_beside_resume
from gymposium.errors import BadOption
from gymposium.runs.folder import check_run_path
from gymposium_train.cli.naming import make_overrides, name_options
from gymposium_train.cli.running import MetricsOption, help_leader, make_config, parse_metrics, run_training, show_plan
from gymposium_train.config.model import Tune


def command(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA|NAME=VALUE",
            help="Imitate the replies in these chats or match records. NAME=VALUE sets a setting of gymposium train",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="DIR|NAME", help="Fine-tune this model directory or hub name")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Imitate each conversation this many times")] = 3,
    validation: Annotated[
        float, typer.Option(metavar="SHARE", help="Hold out this share of the conversations, to measure each epoch")
    ] = 0.05,
    tune: Annotated[
        Tune | None, typer.Option(help="Train all weights (full), or a LoRA that is then merged. Default: lora")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Set the peak learning rate. Default: 2e-4 for a LoRA, 2e-5 for all weights")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="OUTCOME",
            help=(
                "In match records, imitate seats with these outcomes: win, draw, loss (separated by commas), "
                "return>=X, all. Default: win"
            ),
        ),
    ] = None,
    player: Annotated[
        str | None, typer.Option(metavar="PLAYER", help="In match records, imitate only this player")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed all random numbers. Default: 0")] = None,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    metrics: MetricsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings as a config file, and what the run would do")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Fine-tune a language model on chats or match records (supervised fine-tuning).

    A line of DATA is a conversation in JSON: {"messages": [...]}, or {"prompt": [...], "completion": [...]}, also with
    tools and tool calls. gymposium synth writes such files. The model imitates each reply of the assistant.

    DATA may also be match records (matches.jsonl, also compressed). The model then imitates the turns of the winners,
    or those that --keep and --player select, with the prompts that it would read in their place (prompting.*).

    After each epoch, the loss and the token accuracy of the held-out conversations are measured. The result has the
    weights of the epoch with the lowest loss. It is the player lm:RUN.

    Ctrl-C and SIGTERM stop after the current step; --resume continues from there.

    Examples:

    \b
    gymposium sft chats.jsonl --model Qwen/Qwen3-0.6B --out runs/sft
    gymposium sft data/moves/data.jsonl --model runs/first/model --tune full --epochs 2
    gymposium sft runs/moves/matches.jsonl --player mcts-100 --keep win,draw --model Qwen/Qwen3-0.6B
    gymposium sft a.jsonl b.jsonl --model Qwen/Qwen3-0.6B --validation 0 cold_start.batch=16
    gymposium sft --resume runs/sft
    """
    if help_leader():
        return
    if resume is not None:
        reject_options_beside_resume(ctx, {"metrics"})
        run_training(None, resume, metrics, as_json=as_json)
        return
    data = [argument for argument in arguments or [] if "=" not in argument]
    if not data:
        raise BadOption("Nothing to imitate. Name files:  gymposium sft chats.jsonl --model MODEL")
    if model is None:
        raise BadOption("No model to fine-tune. Name one with --model, such as --model Qwen/Qwen3-0.6B.")
    options = make_overrides(
        {
            "--model": (("model", "name"), model),
            "--epochs": (("cold_start", "epochs"), epochs),
            "--validation": (("cold_start", "validation"), validation),
            "--tune": (("cold_start", "tune"), tune),
            "--learning-rate": (("cold_start", "learning_rate"), learning_rate),
            "--keep": (("cold_start", "records", "keep"), keep),
            "--player": (("cold_start", "records", "player"), player),
            "--seed": (("seed",), seed),
        }
    )
    base = {"steps": 0, "cold_start": {"data": data}}
    with name_options(options):
        settings = [argument for argument in arguments or [] if "=" in argument]
        config = make_config(None, settings, options, base)
        if dry_run:
            parse_metrics(metrics)
            show_plan(config, as_json=as_json)
        else:
            check_run_path(out_dir)
            run_training(config, out_dir, metrics, as_json=as_json)
