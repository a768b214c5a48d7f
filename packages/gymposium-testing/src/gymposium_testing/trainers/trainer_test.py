"""Test the trainer given by `--trainer`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gymposium_testing.contract import NotApplicable
from gymposium_testing.trainers.protocol import RowTrainer, Trainer
from gymposium_testing.trainers.registry import TrainerCheck, list_trainer_checks


def pytest_generate_tests(metafunc: Any) -> None:
    """Parametrize the test by check."""
    option = metafunc.config.getoption("trainer", default=None)
    checks = list_trainer_checks(load_trainer(option), metafunc.config.getoption("trainer_seed", default=0))
    metafunc.parametrize("check", checks, ids=[check.name for check in checks])


def load_trainer(option: str | None) -> Trainer | RowTrainer:
    """Make the trainer named by `--trainer`. Raises `pytest.UsageError` if it cannot be imported."""
    module, colon, name = (option or "").partition(":")
    if not (module and colon and name):
        raise pytest.UsageError(
            f"Invalid --trainer {option or ''}. Use --trainer MODULE:NAME with your adapter's class."
        )
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found: Trainer | RowTrainer = getattr(import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise pytest.UsageError(f"--trainer {option}: {error}. The current folder is searched, too.") from error
    return found


def test_trainer(check: TrainerCheck) -> None:
    """Test that the trainer passes the check."""
    try:
        check.run()
    except NotApplicable as reason:
        pytest.skip(str(reason))
