"""TRL's trainer passes the conformance kit of trainers at level (b)."""

from __future__ import annotations

from gymposium_testing.trainers import list_trainer_checks, run_trainer_checks
from gymposium_trl.conformance import GrpoUnderTest

from .runs import QUIET

pytestmark = QUIET


def test_trl_passes_every_row_and_step_check() -> None:
    checks = [check for check in list_trainer_checks(GrpoUnderTest()) if check.level == "b"]
    found = [*run_trainer_checks(checks)]
    assert {outcome.result for outcome in found} == {"passed"}, found
