"""The options of `pytest --pyargs gymposium_testing.trainers`.

This module is an entry point in the group `pytest11`, because pytest reads options before it resolves `--pyargs`. The
entry point has the module's name, so `-p` may name it too."""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """Add the options."""
    group = parser.getgroup("gymposium-trainers", "gymposium's conformance kit for trainers")
    group.addoption("--trainer", metavar="MODULE:NAME", help="Class or function that makes the trainer to check")
    group.addoption("--trainer-seed", type=int, default=0, metavar="N", help="Seed of the trainer's checks; default: 0")
