"""Training from Python: `train`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gymposium.errors import BadOption, WrongType
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.overrides import Override
from gymposium_train.config.permitted import check_permitted
from gymposium_train.run.callbacks import Callback
from gymposium_train.util.processes import is_helper


def train(
    config: TrainConfig | None = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    steps: int | None = None,
    budget: float | None = None,
    callbacks: Sequence[Callback] = (),
    metrics: Sequence[str] = (),
) -> RunDirectory:
    """Train a model with this config in the directory `out`, or resume the run in `resume` with its own config. By
    default, `out` is a new directory such as `gymposium-runs/2026-11-23-train-1`. With `resume`, `steps` or `budget`
    extends the run, even if it is finished. `metrics` names further metrics to show in a terminal, with patterns such
    as `train/*`. All metrics are written in any case. Returns the run directory. Its `results()` are the evaluations.

    If torchrun started several processes, the first one does the run. The others ignore the arguments, help the first
    one learn, and return when the run is done.

    Raises `BadConfig` for an invalid config or a bound that the run has already reached, and `BadOption` for a
    directory that is in use or is not a run. Raises
    `PermissionRequired` if the config opens something without the user's permission (`gymposium.plugins.allowed`).
    Raises `KeyboardInterrupt` if the run was interrupted. Continue it with `resume`."""
    if is_helper():
        from gymposium_train.run.together import help_to_learn  # imports torch

        return help_to_learn()
    # check all arguments before importing torch, which takes seconds
    if resume is not None:
        if config is not None or out is not None:
            raise BadOption(
                "train: resume conflicts with config and out, because a run continues in its directory with its own "
                "config. Leave out config and out."
            )
        check_permitted(RunDirectory.open(Path(resume))[1])
        bounds = {"steps": steps, "budget": budget}
        if given := [Override((name,), value, name) for name, value in bounds.items() if value is not None]:
            from gymposium_train.run.extending import extend_run  # imports torch

            extend_run(Path(resume), given)
        from gymposium_train.run.start import resume_run  # imports torch

        return resume_run(Path(resume), callbacks, metrics)
    if steps is not None or budget is not None:
        raise BadOption("train: steps and budget extend a run. Pass its directory as resume, or use the config.")
    if config is None:
        raise BadOption("train: config is missing. Pass a config, or pass a run's directory as resume.")
    if not isinstance(config, TrainConfig):
        raise WrongType("train: config", "a TrainConfig, such as TrainConfig(games=('tic_tac_toe',))", config)
    check_config(config, at_hand=False)
    from gymposium_train.run.start import start_run  # imports torch

    return start_run(None if out is None else Path(out), config, callbacks, metrics)
