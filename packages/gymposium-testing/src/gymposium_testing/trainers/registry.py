"""List and run the checks of a trainer."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from gymposium_testing.contract import CheckFailed, NotApplicable, format_error
from gymposium_testing.trainers.checks import learning, rows, sampling, steps
from gymposium_testing.trainers.evidence import TrainerEvidence
from gymposium_testing.trainers.protocol import RowTrainer, Trainer

_ROW_CHECKS: tuple[Callable[[TrainerEvidence], None], ...] = (
    rows.tokens,
    rows.mask,
    rows.cut_replies,
    rows.retokenized_turns,
    rows.last_step,
    rows.seat_reward,
    sampling.versions,
    sampling.temperature,
    sampling.staleness,
    steps.fresh_gradient,
    steps.sign,
    steps.rewards,
    steps.weights_follow,
    rows.seat_baseline,
    steps.loss_tokens,
    steps.padding,
    steps.kl,
    steps.exact_gradient,
)


@dataclass(frozen=True, slots=True)
class TrainerCheck:
    """A check of a trainer, with everything needed to run it."""

    name: str
    level: Literal["a", "b"]
    run: Callable[[], None]
    """Run the check. Raises `NotApplicable`, or `CheckFailed` for a violation or any other error."""


@dataclass(frozen=True, slots=True)
class TrainerOutcome:
    """The outcome of a trainer check."""

    check: str
    level: Literal["a", "b"]
    result: Literal["passed", "failed", "not applicable"]
    message: str = ""


def list_trainer_checks(trainer: Trainer | RowTrainer, seed: int = 0) -> list[TrainerCheck]:
    """Return a trainer's checks in running order. Checks at level (b) share evidence, which is computed only once."""
    checks = []
    if isinstance(trainer, RowTrainer):
        begun: list[TrainerEvidence] = []

        def on_rows(function: Callable[[TrainerEvidence], None]) -> None:
            if not begun:
                begun.append(TrainerEvidence(trainer, seed))
            function(begun[0])

        checks += [
            TrainerCheck(function.__name__, "b", partial(_run_guarded, partial(on_rows, function)))
            for function in _ROW_CHECKS
        ]
    checks += [
        TrainerCheck(
            f"learns {name}", "a", partial(_run_guarded, partial(learning.check_learning, trainer, name, seed))
        )
        for name in learning.TASKS
    ]
    return checks


def run_trainer_checks(checks: list[TrainerCheck]) -> Iterator[TrainerOutcome]:
    """Run checks and yield their outcomes."""
    for check in checks:
        try:
            check.run()
        except NotApplicable as reason:
            yield TrainerOutcome(check.name, check.level, "not applicable", str(reason))
        except CheckFailed as failure:
            yield TrainerOutcome(check.name, check.level, "failed", str(failure))
        else:
            yield TrainerOutcome(check.name, check.level, "passed")


def _run_guarded(run: Callable[[], None]) -> None:
    try:
        run()
    except (CheckFailed, NotApplicable):
        raise
    except Exception as error:  # a trainer may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise CheckFailed(
            format_error(error),
            where=f"{place.filename}:{place.lineno}",
            fix="fix the failing code: no adapter method may raise this error.",
        ) from error
