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
from gymposium.plugins.command_line import format_command_line
from gymposium.runs.loggers.make import close_loggers, make_loggers
from gymposium.runs.loggers.protocol import LoggerStart
from gymposium.runs.results import AFTER, BEFORE, CONTROL
from gymposium.runs.run import mark_running
from gymposium.util.durable import replace_text
from gymposium_agents.modeling.sources import find_title
from gymposium_train.backends.evaluated import open_run_player
from gymposium_train.backends.models import find_initial_model, make_chat
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.directory import RunDirectory, is_complete
from gymposium_train.config.distributed import check_processes
from gymposium_train.config.permitted import check_permitted, list_names_to_allow
from gymposium_train.config.references import check_servable
from gymposium_train.config.writing import config_to_data
from gymposium_train.run.callbacks import Callback
from gymposium_train.run.checkpoints import list_complete_checkpoints, read_step
from gymposium_train.run.cold_start import run_cold_start
from gymposium_train.run.control import run_control
from gymposium_train.run.extending import drop_results
from gymposium_train.run.fitting import fit_config
from gymposium_train.run.gains import add_gains
from gymposium_train.run.live import open_view
from gymposium_train.run.losses import describe_judges
from gymposium_train.run.measures import measure_anchors, measure_player
from gymposium_train.run.memory import return_large_blocks
from gymposium_train.run.teachers import plays_itself, resolve_teacher
from gymposium_train.run.together import lead_processes
from gymposium_train.run.training import reinforce_policy
from gymposium_train.run.under_way import RunContext
from gymposium_train.run.watching import RunReporter
from gymposium_train.util.processes import count_processes
from gymposium_train.util.progress import handle_interruption, print_message


def start_run(
    path: Path | None, config: TrainConfig, callbacks: Sequence[Callback] = (), shown: Sequence[str] = ()
) -> RunDirectory:
    """Start a run in the directory `path`, by default a new one in `gymposium-runs`."""
    check_config(config)
    check_processes(config, count_processes())
    config, remark = resolve_teacher(config)
    if remark:
        print_message(remark, style="yellow")
    config = fit_config(config)
    directory = RunDirectory.create(path, config)
    _execute_run(directory, config, callbacks, shown, resumed=False)
    return directory


def resume_run(path: Path, callbacks: Sequence[Callback] = (), shown: Sequence[str] = ()) -> RunDirectory:
    """Resume an interrupted run."""
    directory, config = RunDirectory.open(path)
    check_permitted(config)
    check_processes(config, count_processes())
    check_servable(config)
    directory.check_results(config)
    directory.write_versions()  # the run may have been killed right after its start
    _execute_run(directory, config, callbacks, shown, resumed=True)
    return directory


def _execute_run(
    directory: RunDirectory,
    config: TrainConfig,
    callbacks: Sequence[Callback],
    metrics: Sequence[str],
    *,
    resumed: bool,
) -> None:
    """Do all stages of a run, with its loggers. The run can be resumed after an error or a `KeyboardInterrupt`."""
    print_message(f"Run directory: {directory.path}")
    if config.has_teacher:
        only = ", in the cold start only" if config.steps != 0 and config.distillation_weight == 0 else ""
        print_message(f"Teacher: {config.teacher}{only}")
        if config.teacher.startswith("cfr-") and config.steps != 0 and not plays_itself(config):
            print_message(
                "Reinforcement learning against fixed opponents will undo the equilibrium that the teacher plays. To "
                "keep it, set steps=0, or play against self.",
                style="yellow",
            )
    if config.model.name is not None and config.backend.kind == "local":
        checkpointing = ", with checkpointing" if config.optimizer.checkpointing else ""
        print_message(f"Model: {find_title(config.model.name) or config.model.name}")
        print_message(
            f"Layout of rows: {config.optimizer.rows_layout}{checkpointing}, up to "
            f"{config.optimizer.tokens_per_pass:,} tokens per pass"
        )
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if config.model.name is None:
        torch.set_num_threads(1)  # a small model is slower with more threads
    else:
        return_large_blocks()
    checkpoints = list_complete_checkpoints(directory.checkpoints)
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
            handle_interruption() as stop,
            open_view(metrics) as shown,
            lead_processes(directory) as world,
        ):
            watchers = RunReporter(directory, shown, loggers, callbacks)
            games = tuple(load_game(name) for name in config.games)
            run = RunContext(directory, config, shown, stop, watchers, games, world)
            _run_stages(run)
            _write_report(directory)
            watchers.finished()
    except BaseException as error:
        close_loggers(loggers, error)
        stopped = "\nStopped. " if isinstance(error, KeyboardInterrupt) else ""
        command = "serve" if config.source.kind == "sessions" else "train" if config.games else "sft"
        print_message(
            f"{stopped}Continue with:\n  "
            f"{format_command_line(command, '--resume', str(directory.path), allow=list_names_to_allow(config))}"
        )
        raise
    close_loggers(loggers)


def _write_report(directory: RunDirectory) -> None:
    """Write the run's page, if gymposium-viewer is installed."""
    if find_spec("gymposium_viewer") is None:
        print_message("No report.html: install gymposium-viewer to get the run's page.")
        return
    from gymposium_viewer.training.run_page import render_report

    replace_text(directory.report, render_report(directory.path))


def _run_stages(run: RunContext) -> None:
    """Do the stages in order. Each stage needs the results of the earlier ones."""
    directory, config = run.directory, run.config
    if not (is_complete(directory.adapter) or is_complete(directory.model)):
        drop_results(directory, [AFTER])  # an extension may have been killed after it removed the model
    run_cold_start(run)
    _report_template(run)
    if run.games:
        directory.add_results(judges=describe_judges(run.games))
    with run.engine:
        measure_player(run, BEFORE, partial(run.backend.player, run.start, BEFORE), step=0)
        if config.steps != 0:
            reinforce_policy(run)
            steps = directory.results()["steps"]
            measure_player(run, AFTER, partial(run.backend.player, run.start, AFTER), step=steps)
            add_gains(run, BEFORE)
    if config.steps != 0 and config.control:
        run_control(run)  # without the engine, which may share a GPU with the learner
        with run.engine:
            measure_player(run, CONTROL, partial(open_run_player, run.start, directory.control))
        add_gains(run, CONTROL)
    measure_anchors(run)


def _report_template(run: RunContext) -> None:
    """Report how the model's chat template treats tool calls and history, if the run has either."""
    if run.config.prompting.context != "state" or any(game.spec.tools for game in run.games):
        print_message(make_chat(run.config, find_initial_model(run.directory, run.config)).verdict)
