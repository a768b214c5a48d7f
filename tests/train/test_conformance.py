"""The trainer passes level (b) of the trainer conformance kit. Level (a) takes too long for a test."""

from __future__ import annotations

import torch

from gymposium_testing.trainers import list_trainer_checks, run_trainer_checks
from gymposium_train.conformance import SelfPlayTrainer


def test_trainer_passes_every_row_and_step_check() -> None:
    torch.set_num_threads(1)
    checks = [check for check in list_trainer_checks(SelfPlayTrainer()) if check.level == "b"]
    found = [*run_trainer_checks(checks)]
    assert {outcome.result for outcome in found} == {"passed"}, found
