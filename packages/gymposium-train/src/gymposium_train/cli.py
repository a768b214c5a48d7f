"""The command `gymposium train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.resume import OutOption, ResumeOption, exit_code, refuse_beside_resume
from gymposium.cli.text import note, out, show
from gymposium.errors import BadOption
from gymposium.runs.folder import check_new
from gymposium.runs.results import lines, spent, verdict
from gymposium_train.api import train
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check
from gymposium_train.config.outline import outline
from gymposium_train.config.overrides import Override, parse
from gymposium_train.config.permitted import check_permitted
from gymposium_train.config.reading import config_from, merged, read_data
from gymposium_train.config.small_model import of_small_model
from gymposium_train.config.writing import as_data, as_toml
from gymposium_train.directory import RunDirectory
from gymposium_train.parallel.environment import helps, processes
from gymposium_train.presets import preset_data, preset_names, preset_summary

NOTHING_LEARNED = 3
"""Exit status of a run that is complete and learned nothing."""
WIDTH = 120
"""Width of the table of results in columns; a narrower terminal wraps its lines."""


def command(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG.toml|NAME=VALUE",
            help="A config file, and single settings, which override the file. A value is TOML, a bare word is text, "
            "and NAME= restores the default.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="A preset to start from; --presets lists them.")
    ] = None,
    game: Annotated[
        list[str] | None, typer.Option(metavar="GAME", help="A game of gymposium list. Repeat it for more games.")
    ] = None,
    opponent: Annotated[
        str | None, typer.Option(metavar="PLAYER", help="The player of the other seats; random by default.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME",
            help="A model directory or hub name, which has other defaults. By default a small model is made.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers; 0 by default.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of reinforcement learning.")] = None,
    control: Annotated[
        bool, typer.Option("--control", help="Also spend the same CPU time on more SFT, to compare.")
    ] = False,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings, as a config file, and what the run would do.")
    ] = False,
    presets: Annotated[bool, typer.Option("--presets", help="List the presets.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a language model to play games: cold start, reinforcement learning, measures, a report.

    Every setting has a name, such as optimizer.learning_rate, and a default, which may depend on the model.
    NAME=VALUE and the options here override the config file, which overrides the preset. A new kind of a table, such
    as credit.kind=gae, resets the table's other settings. --dry-run shows all settings with their values; the
    reference explains each one.

    Ctrl-C and SIGTERM stop after the current step; --resume continues from there. The exit status is 3 if the model
    is not better after training than before it, by the intervals of both.

    Examples:

    \b
    gymposium train --game tic_tac_toe --opponent random --control
    gymposium train --game kuhn_poker --opponent mcts-50 --out runs/kuhn steps=40 evaluation.matches=500
    gymposium train --game tic_tac_toe --game kuhn_poker "reward=weighted(accuracy=1,efficiency=0.2)"
    gymposium train --preset openspiel-ppo-curriculum --dry-run > mine.toml
    gymposium train mine.toml optimizer.learning_rate=1e-5 stages.0.promote=0.8
    gymposium train --resume runs/kuhn
    """
    if presets:
        _list_presets(as_json=as_json)
        return
    if helps():  # torchrun started this process beside the one that does the run
        try:
            train()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        return
    if resume is not None:
        refuse_beside_resume(ctx)
        _run(None, resume, as_json=as_json)
        return
    shortcuts = {
        ("games",): game,
        ("stages",): [{"opponents": {opponent: 1.0}}] if opponent is not None else None,
        ("model", "name"): model,
        ("seed",): seed,
        ("steps",): steps,
        ("control",): control or None,
    }
    options = [Override(path, value, _option(path)) for path, value in shortcuts.items() if value is not None]
    config = _config(preset, arguments or [], options)
    if dry_run:
        _show_plan(config, as_json=as_json)
    else:
        check_new(out_dir)
        _run(config, out_dir, as_json=as_json)


def _option(path: tuple[str, ...]) -> str:
    """The command-line option of a setting."""
    return "--" + {"games": "game", "stages": "opponent", "name": "model"}.get(path[-1], path[-1])


def _config(preset: str | None, arguments: list[str], options: list[Override]) -> TrainConfig:
    """The config from defaults, preset, file and single settings; later ones override earlier ones."""
    files, settings = [], []
    for argument in arguments:
        if argument.endswith((".toml", ".json")) and "=" not in argument:
            files.append(Path(argument))
        else:
            settings.append(parse(argument))
    if len(files) > 1:
        raise BadOption(f"There can be one config file, not {len(files)}: {', '.join(map(str, files))}.")
    if not (preset or files or settings or options):
        raise BadOption(
            "Say what to train: --game tic_tac_toe (gymposium list shows all games), a config file, a --preset "
            "(--presets lists them), or --resume DIR."
        )
    layers = [preset_data(preset)] if preset is not None else []
    layers += [read_data(file) for file in files]
    data, typed = merged(*layers), [*options, *settings]
    if "games" not in data and not any(override.path[0] == "games" for override in typed):
        raise BadOption("Name the game that is to be learned:  --game tic_tac_toe  (gymposium list shows all games)")
    config = config_from(data, typed)
    if files:
        check_permitted(config, typed)
    return config


def _run(config: TrainConfig | None, directory: Path | None, *, as_json: bool) -> None:
    """Start a run in a directory, or without a config resume the run there, and show its results."""
    try:
        if config is None:
            assert directory is not None, "a run is resumed from its directory"
            check_permitted(RunDirectory.open(directory)[1])
            run = train(resume=directory)
        else:
            run = train(config, out=directory)
    except KeyboardInterrupt as stop:
        raise typer.Exit(exit_code(stop)) from None
    if as_json:
        print_json(run.results())
    else:
        _show_results(run)
    found = verdict(run.results())
    if found is not None:
        note(found.text)
        if not found.learned and processes() == 1:  # torchrun takes any other status than 0 for a crash
            raise typer.Exit(NOTHING_LEARNED)


def _show_results(run: RunDirectory) -> None:
    config, results = run.open(run.path)[1], run.results()
    several = len(config.games) > 1
    headings = ("player", "against", "win", "draw", "loss", "mean return", "failed")
    table = Table(*(["game"] if several else []), *headings, box=None)
    for column in table.columns:
        column.no_wrap = True
    for line in lines(as_data(config), results):
        draw, loss = (cell.partition(" ")[0] for cell in (line.draw, line.loss))  # all intervals are in the report
        cells = (f"{line.opponent} ({line.matches})", line.win, draw, loss, line.mean_return, line.failed)
        table.add_row(*([line.game] if several else []), line.player, *cells)
    console = out()
    console.width = max(console.width, WIDTH)
    console.print(table)
    console.print("CPU time: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in spent(results).items()))
    console.print(f"Report: {run.report}")


def _show_plan(config: TrainConfig, *, as_json: bool) -> None:
    """Print the config as a file, with the outline of the run as comments."""
    check(config, at_hand=False)
    config = of_small_model(config)
    planned = outline(config)
    if as_json:
        print_json({"config": as_data(config), "outline": planned})
        return
    comments = [f"# {name + ':':<12} {text}" for name, text in planned.items()]
    show(out(), "\n".join([*comments, "", as_toml(config).rstrip()]))
    note("Nothing was done. The settings make sense; models and engine are looked for when the run begins.")


def _list_presets(*, as_json: bool) -> None:
    presets: dict[str, Any] = {name: preset_summary(name) for name in preset_names()}
    if as_json:
        print_json(presets)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, summary in presets.items():
        table.add_row(name, summary)
    out().print(table)
    note("Take one with --preset NAME; --dry-run shows all that it sets.")
