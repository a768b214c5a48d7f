"""Start and resume runs. Each stage writes its result into the run directory, and is skipped if the result exists.
Resuming a run therefore repeats all stages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from os.path import realpath
from pathlib import Path

import torch
from transformers.utils import logging as transformers_logging

from gymposium.games.registry import load_game
from gymposium.plugins.command_line import command_line
from gymposium.runs.loggers.make import close_loggers, make_loggers
from gymposium.runs.loggers.protocol import LoggerStart
from gymposium.runs.results import AFTER, BEFORE, CONTROL
from gymposium.runs.run import mark_running
from gymposium.util.durable import replace_text
from gymposium_agents.modeling.sources import find_title
from gymposium_train.backends.evaluated import open_run_player
from gymposium_train.backends.models import initial_model, make_chat
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.distributed import check_processes
from gymposium_train.config.permitted import check_permitted, names_to_allow
from gymposium_train.config.references import check_servable
from gymposium_train.config.writing import config_to_data
from gymposium_train.run.beside import control_beside
from gymposium_train.run.callbacks import Callback
from gymposium_train.run.checkpoints import complete_checkpoints, read_step
from gymposium_train.run.cold_start import start
from gymposium_train.run.control import control
from gymposium_train.run.fitting import fitted
from gymposium_train.run.gains import compare
from gymposium_train.run.live import view
from gymposium_train.run.measures import measure, measure_anchors
from gymposium_train.run.memory import return_large_blocks
from gymposium_train.run.together import leading
from gymposium_train.run.training import reinforce
from gymposium_train.run.under_way import UnderWay
from gymposium_train.run.watching import Watchers
from gymposium_train.util.processes import processes
from gymposium_train.util.progress import interruption, say


def start_run(
    path: Path | None, config: TrainConfig, callbacks: Sequence[Callback] = (), shown: Sequence[str] = ()
) -> RunDirectory:
    """Start a run in the directory `path`, by default a new one in `gymposium-runs`."""
    check(config)
    check_processes(config, processes())
    config = fitted(config)
    directory = RunDirectory.create(path, config)
    _execute(directory, config, callbacks, shown, resumed=False)
    return directory


def resume_run(path: Path, callbacks: Sequence[Callback] = (), shown: Sequence[str] = ()) -> RunDirectory:
    """Resume an interrupted run."""
    directory, config = RunDirectory.open(path)
    check_permitted(config)
    check_processes(config, processes())
    check_servable(config)
    directory.check_results(config)
    directory.write_versions()  # the run may have been killed right after its start
    _execute(directory, config, callbacks, shown, resumed=True)
    return directory


def _execute(
    directory: RunDirectory,
    config: TrainConfig,
    callbacks: Sequence[Callback],
    metrics: Sequence[str],
    *,
    resumed: bool,
) -> None:
    """Do all stages of a run, with its loggers. The run can be resumed after an error or a `KeyboardInterrupt`."""
    say(f"Run directory: {directory.path}")
    if config.model.name is not None and config.backend.kind == "local":
        checkpointing = ", with checkpointing" if config.optimizer.checkpointing else ""
        say(f"Model: {find_title(config.model.name) or config.model.name}")
        say(f"Layout of rows: {config.optimizer.rows_layout}{checkpointing}")
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if config.model.name is None:
        torch.set_num_threads(1)  # a small model is slower with more threads
    else:
        return_large_blocks()
    checkpoints = complete_checkpoints(directory.checkpoints)
    loggers = make_loggers(
        config.loggers,
        LoggerStart(
            run=Path(realpath(directory.path)).name,
            directory=directory.path,
            config=config_to_data(config),
            resumed=resumed,
            step=read_step(checkpoints[-1]) + 1 if checkpoints else 0,
        ),
    )
    try:
        with (
            mark_running(directory.path),
            interruption() as stop,
            view(metrics) as shown,
            leading(directory) as world,
        ):
            watchers = Watchers(directory, shown, loggers, callbacks)
            games = tuple(load_game(name) for name in config.games)
            run = UnderWay(directory, config, shown, stop, watchers, games, world)
            _stages(run)
            _write_report(directory)
            watchers.finished()
    except BaseException as error:
        close_loggers(loggers, error)
        stopped = "\nStopped. " if isinstance(error, KeyboardInterrupt) else ""
        command = "serve" if config.source.kind == "sessions" else "train" if config.games else "sft"
        say(
            f"{stopped}Continue with:\n  "
            f"{command_line(command, '--resume', str(directory.path), allow=names_to_allow(config))}"
        )
        raise
    close_loggers(loggers)


def _write_report(directory: RunDirectory) -> None:
    """Write the run's page, if gymposium-viewer is installed."""
    if find_spec("gymposium_viewer") is None:
        say("No report.html: install gymposium-viewer to get the run's page.")
        return
    from gymposium_viewer.training.run_page import render_report

    replace_text(directory.report, render_report(directory.path))


def _stages(run: UnderWay) -> None:
    """Do the stages in order. Each stage needs the results of the earlier ones."""
    directory, config = run.directory, run.config
    start(run)
    _say_what_the_template_does(run)
    measure(run, BEFORE, partial(run.backend.player, run.start, BEFORE), step=0)
    if config.steps != 0:
        with control_beside(run):
            reinforce(run)
            steps = directory.results()["steps"]
            measure(run, AFTER, partial(run.backend.player, run.start, AFTER), step=steps)
            compare(run, BEFORE)
        if config.control:
            control(run)
            measure(run, CONTROL, partial(open_run_player, directory, config, directory.control))
            compare(run, CONTROL)
    measure_anchors(run)


def _say_what_the_template_does(run: UnderWay) -> None:
    """Report how the model's chat template treats tool calls and history, if the run has either."""
    if run.config.prompting.context != "state" or any(game.spec.tools for game in run.games):
        say(make_chat(run.config, initial_model(run.directory, run.config)).verdict)
