"""Defects planted in a hand-written trainer are caught by the checks that name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.trainers.planting import Defect, defects, loop_trainer

from gymposium_testing.trainers import TrainerOutcome, list_trainer_checks, run_trainer_checks

TWELVE = defects(Path(__file__).parents[3] / "benchmarks" / "trainers" / "defects.toml")
MORE = defects(Path(__file__).with_name("more_defects.toml"))


def failures(scratch: Path, defect: Defect | None) -> dict[str, TrainerOutcome]:
    with loop_trainer(scratch, defect) as trainer:
        found = [*run_trainer_checks([check for check in list_trainer_checks(trainer) if check.level == "b"])]
    return {outcome.check: outcome for outcome in found if outcome.result == "failed"}


@pytest.mark.slow
@pytest.mark.parametrize("defect", [*TWELVE, *MORE], ids=lambda defect: defect.name)
def test_each_defect_is_caught_by_its_check(defect: Defect, tmp_path: Path) -> None:
    failed = failures(tmp_path, defect)
    assert defect.check in failed, failed
    assert "to do:" in failed[defect.check].message
    assert "no adapter method may raise this error" not in failed[defect.check].message


def test_twelve_defects_are_caught_by_distinct_checks() -> None:
    assert len({defect.check for defect in TWELVE}) == len(TWELVE) == 12


def test_correct_trainer_passes_every_check(tmp_path: Path) -> None:
    with loop_trainer(tmp_path) as trainer:
        found = [*run_trainer_checks([check for check in list_trainer_checks(trainer, seed=1) if check.level == "b"])]
    assert {outcome.result for outcome in found} == {"passed"}, found
