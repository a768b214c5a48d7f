"""The command `gymposium train`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.executors import AddressOption, open_chosen_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.resume import OutOption, ResumeOption, reject_options_beside_resume, reject_other_options
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.runs.executors.make import check_executor
from gymposium.runs.executors.protocol import CommandRunner
from gymposium.runs.folder import check_run_path
from gymposium_train.cli.backend import BackendOption, BaseUrlOption
from gymposium_train.cli.naming import make_overrides, name_options, parse_games
from gymposium_train.cli.running import MetricsOption, help_leader, make_config, parse_metrics, run_training, show_plan
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.distributed import check_processes
from gymposium_train.config.overrides import Override, parse_override
from gymposium_train.config.permitted import check_permitted
from gymposium_train.config.presets import list_presets, read_preset_summary


def command(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG.toml|NAME=VALUE",
            help=(
                "Read settings from a config file and from NAME=VALUE, which overrides the file. VALUE is TOML, a "
                "bare word is text, and NAME= restores the default"
            ),
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start from a preset (--presets lists them)")
    ] = None,
    game: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GAME[:SHARE]",
            help="Train on this game (see gymposium list; repeatable), with this share of the groups. Default share: 1",
        ),
    ] = None,
    opponent: Annotated[
        str | None, typer.Option(metavar="PLAYER", help="Seat this player as the opponent. Default: random")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME",
            help="Train this model directory or hub name, which changes some defaults. By default, make a small model",
        ),
    ] = None,
    backend: BackendOption = None,
    base_url: BaseUrlOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed all random numbers. Default: 0")] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Limit the CPU seconds of cold start and training together. Default: 300"),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help=("Set the number of reinforcement learning steps, instead of a --budget"))
    ] = None,
    control: Annotated[
        bool, typer.Option("--control", help="Also spend the same CPU time on more SFT, for comparison")
    ] = False,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    metrics: MetricsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings as a config file, and what the run would do")
    ] = False,
    memory: Annotated[
        bool,
        typer.Option("--memory", help="With --dry-run, also estimate the memory by part, and what would make it fit"),
    ] = False,
    presets: Annotated[bool, typer.Option("--presets", help="List the presets")] = False,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="ray",
            help=("Train in several processes on a Ray cluster (gymposium-ray). On one machine, use torchrun"),
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Set the number of learner processes for --executor. Default: 1")
    ] = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a language model to play games: cold start, reinforcement learning, evaluation, and a report.

    Every setting has a name, such as optimizer.learning_rate, and a default that may depend on the model. NAME=VALUE
    and the options here override the config file, which overrides the preset. Changing a table's kind, as with
    credit.kind=gae, resets its other settings. --dry-run shows the values of all settings. The reference explains each
    one.

    Ctrl-C and SIGTERM stop after the current step; --resume continues from there. With --steps or --budget, --resume
    also extends a finished run. The exit status is 3 if the model is not better after training than before, judging by
    both confidence intervals.

    Examples:

    \b
    gymposium train --game tic_tac_toe --opponent random --control
    gymposium train --game kuhn_poker --opponent mcts-50 --out runs/kuhn steps=40 evaluation.matches=500
    gymposium train --game connect_four:2 --game mail
    gymposium train --game tic_tac_toe --game kuhn_poker "reward=weighted(accuracy=1,efficiency=0.2)"
    gymposium train --preset openspiel-ppo-curriculum --dry-run > mine.toml
    gymposium train --game tic_tac_toe --model Qwen/Qwen3-0.6B --dry-run --memory
    gymposium train mine.toml optimizer.learning_rate=1e-5 stages.0.promote=0.8
    gymposium train --resume runs/kuhn
    gymposium train --resume runs/kuhn --steps 80
    gymposium train mine.toml engine.kind=own --executor ray --processes 4
    """
    if executor is None and (processes is not None or address is not None):
        raise BadOption("--processes and --address need a cluster. Add --executor ray.")
    if memory and not dry_run:
        raise BadOption("--memory estimates a run before it starts. Add --dry-run.")
    if presets:
        reject_other_options(ctx, "presets")
        _list_presets(as_json=as_json)
        return
    if help_leader():
        return
    if resume is not None:
        reject_options_beside_resume(
            ctx, {"metrics", "executor", "processes", "address", "steps", "budget", "arguments"}
        )
        bounds = make_overrides({"--steps": (("steps",), steps), "--budget": (("budget",), budget)})
        if executor is None:
            if bounds or arguments:
                _extend(resume, [*bounds, *map(parse_override, arguments or [])])
            run_training(None, resume, metrics, as_json=as_json)
        else:
            config = RunDirectory.open(resume)[1]
            check_permitted(config)
            _run_distributed(ctx, config, executor, processes or 1, address)
        return
    options = make_overrides(
        {
            "--game": (("games",), parse_games(game)),
            "--opponent": (("stages",), [{"opponents": {opponent: 1.0}}] if opponent is not None else None),
            "--model": (("model", "name"), model),
            "--backend": (("backend", "kind"), backend),
            "--base-url": (("backend", "base_url"), base_url),
            "--seed": (("seed",), seed),
            "--budget": (("budget",), budget),
            "--steps": (("steps",), steps),
            "--control": (("control",), control or None),
        }
    )
    with name_options(options):
        config = make_config(preset, arguments or [], options)
        if opponent is not None and config.games and all(load_game(name).seats == 1 for name in config.games):
            raise BadOption(f"--opponent {opponent}: all games are single-player ({', '.join(config.games)}). Omit it.")
        if dry_run:
            parse_metrics(metrics)
            check_processes(config, processes or 1)
            if executor is not None:
                check_executor(executor)
            show_plan(config, memory=memory, as_json=as_json)
        elif executor is not None:
            check_config(config, at_hand=False)
            _run_distributed(ctx, config, executor, processes or 1, address)
        else:
            check_run_path(out_dir)
            run_training(config, out_dir, metrics, as_json=as_json)


def _extend(path: Path, bounds: Sequence[Override]) -> None:
    """Give a run a new number of steps or a new budget."""
    check_permitted(RunDirectory.open(path)[1])
    from gymposium_train.run.extending import extend_run  # imports torch

    with name_options(bounds):
        extend_run(path, bounds)


def _run_distributed(ctx: typer.Context, config: TrainConfig, name: str, processes: int, address: str | None) -> None:
    """Rerun this command in several processes of an executor, without its executor options, and exit with its status.
    The executor's setup passes on the global options."""
    check_processes(config, processes)
    with open_chosen_executor(name, processes, address) as executor:
        if not isinstance(executor, CommandRunner):
            raise BadOption(
                f"--executor {name} cannot train. On one machine, start several processes with torchrun. On a "
                f"cluster, use --executor ray."
            )
        assert ctx.parent is not None, "the command is a subcommand of gymposium"
        _, command, _ = ctx.parent.command.make_parser(ctx.parent).parse_args(sys.argv[1:])
        arguments = remove_options(command, ("--executor", "--processes", "--address"))
        status = executor.run_command(arguments, processes)
    raise typer.Exit(status)


def remove_options(arguments: Sequence[str], options: Collection[str]) -> list[str]:
    """Return the arguments of a command without these options and their values."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        name = argument.partition("=")[0]
        if not skip and name not in options:
            kept.append(argument)
        skip = not skip and argument in options
    return kept


def _list_presets(*, as_json: bool) -> None:
    presets: dict[str, Any] = {name: read_preset_summary(name) for name in list_presets()}
    if as_json:
        print_json(presets)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, summary in presets.items():
        table.add_row(name, summary)
    make_stdout_console().print(table)
    print_note("Use one with --preset NAME. --dry-run shows all its settings.")
