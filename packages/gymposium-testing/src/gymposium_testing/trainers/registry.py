"""All checks of a trainer, in running order."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from gymposium_testing.contract import CheckFailed, NotApplicable, raised
from gymposium_testing.trainers.checks import learning, rows, sampling, steps
from gymposium_testing.trainers.evidence import TrainerEvidence
from gymposium_testing.trainers.protocol import RowTrainer, Trainer

_ROW_CHECKS: tuple[Callable[[TrainerEvidence], None], ...] = (
    rows.tokens,
    rows.mask,
    rows.cut_replies,
    rows.retokenised_turns,
    rows.last_step,
    rows.reward_of_the_seat,
    sampling.versions,
    sampling.temperature,
    sampling.staleness,
    steps.fresh_gradient,
    steps.sign,
    steps.rewards,
    steps.weights_follow,
    rows.baseline_of_each_seat,
    steps.loss_of_sampled_tokens,
    steps.padding,
    steps.kl,
    steps.exact_gradient,
)


@dataclass(frozen=True, slots=True)
class TrainerCheck:
    """One check of a trainer, with what it needs."""

    name: str
    level: Literal["a", "b"]
    run: Callable[[], None]
    """Raises `NotApplicable`, or `CheckFailed`, also in place of the trainer's other errors."""


@dataclass(frozen=True, slots=True)
class TrainerOutcome:
    """The outcome of one check."""

    check: str
    level: Literal["a", "b"]
    result: Literal["passed", "failed", "not applicable"]
    message: str = ""


def trainer_checks(trainer: Trainer | RowTrainer, seed: int = 0) -> list[TrainerCheck]:
    """Return a trainer's checks. Checks at level (b) share evidence, computed by the first of them."""
    checks = []
    if isinstance(trainer, RowTrainer):
        begun: list[TrainerEvidence] = []

        def on_rows(function: Callable[[TrainerEvidence], None]) -> None:
            if not begun:
                begun.append(TrainerEvidence(trainer, seed))
            function(begun[0])

        checks += [
            TrainerCheck(function.__name__, "b", partial(_guarded, partial(on_rows, function)))
            for function in _ROW_CHECKS
        ]
    checks += [
        TrainerCheck(f"learns {name}", "a", partial(_guarded, partial(learning.learns, trainer, name, seed)))
        for name in learning.TASKS
    ]
    return checks


def outcomes(checks: list[TrainerCheck]) -> Iterator[TrainerOutcome]:
    """Run checks and yield each outcome."""
    for check in checks:
        try:
            check.run()
        except NotApplicable as reason:
            yield TrainerOutcome(check.name, check.level, "not applicable", str(reason))
        except CheckFailed as failure:
            yield TrainerOutcome(check.name, check.level, "failed", str(failure))
        else:
            yield TrainerOutcome(check.name, check.level, "passed")


def _guarded(run: Callable[[], None]) -> None:
    try:
        run()
    except (CheckFailed, NotApplicable):
        raise
    except Exception as error:  # a trainer may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise CheckFailed(
            raised(error),
            where=f"{place.filename}:{place.lineno}",
            do="fix the failing code: no adapter method may raise this error.",
        ) from error
