"""Extend a run: set a new number of steps or a new budget, so that the resumed run takes further steps.

An extension only changes files of the run, in an order that lets a killed one be resumed at any moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gymposium.errors import BadOption
from gymposium.runs.results import AFTER, CONTROL
from gymposium.runs.run import Run
from gymposium.util.durable import remove_directory, replace_text
from gymposium.util.visible import quantity
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import find_contradictions
from gymposium_train.config.directory import RunDirectory, check_state, is_complete, read_state
from gymposium_train.config.overrides import Override
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config
from gymposium_train.config.writing import config_to_data, config_to_json
from gymposium_train.run.checkpoints import STATE, list_complete_checkpoints
from gymposium_train.run.health import MOST_SETBACKS

BOUNDS = ("steps", "budget")
"""The settings that an extension may change. They exclude each other."""
_OF_MODEL = {
    AFTER: ("gains", "train_cpu_seconds", "steps", "kept_step", "setbacks"),
    CONTROL: ("control_cpu_seconds",),
}
"""The results that depend on a model, besides its evaluations."""


def extend_run(path: Path, bounds: Sequence[Override]) -> None:
    """Give the run in `path` a new number of steps or a new budget, and remove what depends on its final weights.

    Raises `BadConfig` for an invalid bound or one that the run has already reached. Raises `BadOption` for other
    settings, and for a run that cannot be extended."""
    directory, config = RunDirectory.open(path)
    extended = _set_bound(config, bounds)
    if Run(path.name, path).running:
        raise BadOption(f"{path} is running in another process. Stop it first.")
    _check_beyond(directory, extended)
    directory.report.unlink(missing_ok=True)  # it marks a finished run
    for result in (directory.adapter, directory.model):
        if result.exists():
            remove_directory(result)
    drop_results(directory, (AFTER, CONTROL))
    if directory.control.exists():
        remove_directory(directory.control)
    replace_text(directory.config_file, config_to_json(extended))


def drop_results(directory: RunDirectory, models: Sequence[str]) -> None:
    """Remove the results of the trained model or the control, and the matches of their evaluations."""
    results = directory.results()
    dropped = [name for what in models for name in _OF_MODEL[what]]
    kept = {name: value for name, value in results.items() if name not in dropped}
    if "evaluations" in kept:
        kept["evaluations"] = {what: scores for what, scores in kept["evaluations"].items() if what not in models}
    if kept != results:
        directory.replace_results(kept)
    directory.drop_matches("eval", tuple(f"{what}-" for what in models))


def _set_bound(config: TrainConfig, bounds: Sequence[Override]) -> TrainConfig:
    """Return the config with the new bound."""
    given = {override.path[0]: override for override in bounds if len(override.path) == 1}
    if others := [override.written for override in bounds if override.path[0] not in BOUNDS or len(override.path) > 1]:
        raise BadOption(f"--resume uses the run's own settings, except steps and budget. Remove {', '.join(others)}.")
    if len(given) > 1:
        raise BadOption(f"{' and '.join(one.written for one in given.values())} both end the run. Give one of them.")
    whole = [] if "steps" in given else [Override(("steps",), None, "steps")]
    extended = build_config(config_to_data(config), [*bounds, *whole])
    if problems := [*find_contradictions(extended)]:
        raise BadConfig(problems)
    return extended


def _check_beyond(directory: RunDirectory, extended: TrainConfig) -> None:
    """Raise `BadConfig` if the run has already reached the bound, and `BadOption` if it cannot continue."""
    checkpoints = list_complete_checkpoints(directory.checkpoints)
    if not checkpoints:
        if is_complete(directory.adapter) or is_complete(directory.model):
            raise BadOption(f"{directory.path} has no checkpoint to continue from. Start a new run.")
        return
    state_file = checkpoints[-1] / STATE
    state = read_state(state_file)
    with check_state(state_file):
        done, setbacks = int(state["step"]), int(state["health"]["setbacks"])
        weight = float(state["training"]["distillation_weight"])
        used = directory.results().get("cold_start_cpu_seconds", 0.0) + float(state["cpu_seconds"])
    if setbacks > MOST_SETBACKS:
        raise BadOption(
            f"{directory.path} ended after {quantity(setbacks, 'rollback')}, because its updates kept breaking the "
            f"policy. Start a new run with a lower optimizer.learning_rate."
        )
    if extended.credit.kind == "off" and weight == 0.0:
        raise BadOption(
            f"{directory.path} learns only from its teacher (credit.kind=off), whose weight has fallen to 0. Start a "
            f"new run with distillation.final_share above 0."
        )
    if extended.steps is not None and extended.steps <= done:
        raise BadConfig([f"steps = {extended.steps}: the run has already taken {quantity(done, 'step')}. Set more."])
    if extended.steps is None and extended.budget <= used:
        raise BadConfig([f"budget = {extended.budget:g}: the run has already used {used:.1f} CPU seconds. Set more."])
