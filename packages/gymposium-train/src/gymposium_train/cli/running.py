"""Shared parts of the commands that start a training run: the config, the run, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Column, Table

from gymposium.cli.json_output import print_json
from gymposium.cli.resume import get_exit_code
from gymposium.cli.text import make_stdout_console, print_note, print_text
from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.plugins.command_line import format_command_line
from gymposium.runs.metric_docs import check_patterns
from gymposium.runs.results import build_rows, judge_run, sum_stage_seconds
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.outline import outline_run
from gymposium_train.config.overrides import Override, parse_override
from gymposium_train.config.permitted import check_permitted
from gymposium_train.config.presets import read_preset
from gymposium_train.config.reading import build_config, merge_data, read_data
from gymposium_train.config.root import AUTO_TEACHER
from gymposium_train.config.small_model import resolve_small_model
from gymposium_train.config.writing import config_to_data, config_to_toml
from gymposium_train.run.api import train
from gymposium_train.util.processes import count_processes, is_helper

MetricsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,...",
        help=(
            "Show further metrics in the terminal, each with a sparkline: train/grad_norm, or a pattern such as "
            "'perf/*' (all are in metrics.jsonl)"
        ),
    ),
]
NOTHING_LEARNED = 3
"""Exit status of a run that completed but learned nothing."""
WIDTH = 120
"""Width of the results table in columns. Narrower terminals show it without intervals."""


def make_config(
    preset: str | None, arguments: list[str], options: list[Override], base: Mapping[str, Any] | None = None
) -> TrainConfig:
    """Build the config from defaults, `base`, preset, file and single settings. Later ones override earlier ones.
    Without a `base`, games are required."""
    files, settings = [], []
    for argument in arguments:
        if argument.endswith((".toml", ".json")) and "=" not in argument:
            files.append(Path(argument))
        else:
            settings.append(parse_override(argument))
    if len(files) > 1:
        raise BadOption(f"Expected at most one config file, not {len(files)}: {', '.join(map(str, files))}. Name one.")
    if base is None and not (preset or files or settings or options):
        raise BadOption(
            "Nothing to train. Give --game tic_tac_toe (gymposium list shows all games), a config file, a --preset "
            "(--presets lists them), or --resume DIR."
        )
    layers = [base or {}, *([read_preset(preset)] if preset is not None else [])]
    layers += [read_data(file) for file in files]
    data, typed = merge_data(*layers), [*options, *settings]
    if base is None and "games" not in data and not any(override.path[0] == "games" for override in typed):
        raise BadOption("Name a game to learn:  --game tic_tac_toe  (gymposium list shows all games)")
    config = build_config(data, typed)
    if files:
        check_permitted(config, typed)
    return config


def parse_metrics(metrics: str | None) -> list[str]:
    """Return the names and patterns in `--metrics`. Raises `UnknownName` if one matches no metric."""
    shown = [name.strip() for name in metrics.split(",")] if metrics else []
    check_patterns("--metrics", shown)
    return shown


def help_leader() -> bool:
    """Work for the leading process until its run ends, if torchrun started this process as a helper. Returns False
    otherwise."""
    if not is_helper():
        return False
    try:
        train()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    return True


def run_training(config: TrainConfig | None, directory: Path | None, metrics: str | None, *, as_json: bool) -> None:
    """Start a run in a directory and show its results. Without a config, resume the run in the directory. `metrics`
    lists additional metrics to show in a terminal, separated by commas."""
    shown = parse_metrics(metrics)
    try:
        if config is None:
            assert directory is not None, "a run is resumed from its directory"
            run = train(resume=directory, metrics=shown)
        else:
            run = train(config, out=directory, metrics=shown)
    except KeyboardInterrupt as stop:
        raise typer.Exit(get_exit_code(stop)) from None
    if as_json:
        print_json(run.results())
    else:
        _show_results(run)
    found = judge_run(run.results())
    if found is not None:
        print_note(found.text)
        if found.is_failure and count_processes() == 1:  # torchrun treats any other nonzero status as a crash
            raise typer.Exit(NOTHING_LEARNED)


def _show_results(run: RunDirectory) -> None:
    config, results = run.open(run.path)[1], run.results()
    several = len(config.games) > 1
    headings = ("player", "against", "win", "draw", "loss", "mean return", "failed")
    table = Table(*(["game"] if several else []), *headings, box=None)
    for column in table.columns:
        column.no_wrap = True
    console = make_stdout_console()
    narrow = console.is_terminal and console.width < WIDTH
    for line in build_rows(config_to_data(config), results):
        draw, loss = map(_format_estimate, (line.draw, line.loss))  # all intervals are in the report
        win, mean = map(_format_estimate, (line.win, line.mean_return)) if narrow else (line.win, line.mean_return)
        cells = (f"{line.opponent} ({line.matches})", win, draw, loss, mean, line.failed)
        table.add_row(*([line.game] if several else []), line.player, *cells)
    console.width = max(console.width, WIDTH)
    if table.rows:
        console.print(table)
    console.print(
        "CPU time: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in sum_stage_seconds(results).items())
    )
    console.print(f"Report: {run.report}")
    if command := _suggest_command(run, config):
        console.print(command, soft_wrap=True)


def _suggest_command(run: RunDirectory, config: TrainConfig) -> str | None:
    """Return a command that plays the trained policy, with its description. Returns None if the weights are not on this
    machine."""
    from gymposium_train.backends.models import (  # imports torch
        find_cold_start_model,
        find_trained_model,
        format_player_name,
    )

    model, adapter = (
        (find_cold_start_model(run, config), None) if config.steps == 0 else find_trained_model(run, config)
    )
    if not (Path(model) if adapter is None else adapter / "adapter_config.json").exists():
        return None
    player = format_player_name(run.path)
    if not config.games:
        return f"The model is the player {player}"
    game = next(iter(config.games))
    if load_game(game).seats == 1:
        return f"Evaluate it: {format_command_line('eval', player, '--game', game)}"
    return f"Play it: {format_command_line('play', game, '--opponent', player)}"


def _format_estimate(cell: str) -> str:
    """Return an estimate without its interval."""
    return cell.partition(" ")[0]


def show_plan(config: TrainConfig, *, memory: bool = False, as_json: bool) -> None:
    """Print the config in its file format, with an outline of the run as comments. With `memory`, also print an
    estimate of the memory."""
    check_config(config, at_hand=False)
    config = resolve_small_model(config)
    planned = _outline_teacher(config) if config.teacher == AUTO_TEACHER else outline_run(config)
    estimate = _estimate_memory(config) if memory else None
    if as_json:
        data = {"config": config_to_data(config), "outline": planned}
        print_json(data if estimate is None else {**data, "memory": estimate.data})
        return
    comments = [f"# {name + ':':<12} {text}" for name, text in planned.items()]
    print_text(make_stdout_console(), "\n".join([*comments, "", config_to_toml(config).rstrip()]))
    if estimate is not None:
        make_stdout_console().print(estimate.table)
        make_stdout_console().print(estimate.verdict, soft_wrap=True)
    print_note("Dry run: nothing was done. The settings are valid. Models and engine are checked when the run begins.")


def _outline_teacher(config: TrainConfig) -> dict[str, str]:
    """Outline a run with `teacher=auto`, and say which teacher it would have."""
    from gymposium_train.run.teachers import resolve_teacher  # imports torch, which takes seconds

    resolved, remark = resolve_teacher(config)
    return {"teacher": remark or f"{resolved.teacher} (teacher = {AUTO_TEACHER})", **outline_run(resolved)}


class _MemoryEstimate(NamedTuple):
    """An estimate of a run's memory, as data and as text."""

    data: dict[str, Any]
    table: Table
    verdict: str


def _estimate_memory(config: TrainConfig) -> _MemoryEstimate:
    from gymposium_train.run.fitting import fit_config
    from gymposium_train.run.memory import estimate_memory  # imports torch, which takes seconds
    from gymposium_train.run.passes import find_fitting_settings

    chosen = fit_config(config)
    needed = estimate_memory(chosen)
    table = Table(Column("memory", no_wrap=True), Column("GiB", justify="right"), box=None)
    for name, size in {**needed.parts(), "peak": needed.total}.items():
        table.add_row(name, f"{size / 2**30:.2f}")
    settings = chosen.optimizer
    layout = (
        f"optimizer.layout={settings.rows_layout}, checkpointing={str(bool(settings.checkpointing)).lower()}, "
        f"token_budget={settings.tokens_per_pass}"
    )
    verdict = f"In rows of up to {needed.row:,} tokens, with {layout}. The device has {needed.device / 2**30:.1f} GiB: "
    data: dict[str, Any] = {**needed.parts(), "peak": needed.total, "device": needed.device, "row": needed.row}
    data |= {"layout": settings.rows_layout, "checkpointing": bool(settings.checkpointing), "fits": needed.fits}
    data["token_budget"] = settings.tokens_per_pass
    if needed.fits:
        return _MemoryEstimate(data, table, f"{verdict}the run fits.")
    found = find_fitting_settings(chosen)
    data["would_fit"] = None if found is None else {"settings": found[0], "peak": found[1].total}
    if found is None:
        return _MemoryEstimate(data, table, f"{verdict}the run does not fit. Use a smaller model or a larger device.")
    remedy = f"the run does not fit. It would with {found[0]} ({found[1].total / 2**30:.2f} GiB)."
    return _MemoryEstimate(data, table, verdict + remedy)
