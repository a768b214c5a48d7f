"""A pytest plugin with the options of `gymposium.testing.suite`: load it with `-p gymposium.testing.options`."""

from __future__ import annotations

from typing import Any

from gymposium.testing.effort import EFFORTS, NORMAL


def pytest_addoption(parser: Any) -> None:
    """Which games, from which files, how thoroughly."""
    group = parser.getgroup("gymposium", "gymposium's conformance kit")
    group.addoption(
        "--game", action="append", dest="games", metavar="NAME", help="A game or a plugin; may be given again."
    )
    group.addoption(
        "--plugin-file",
        action="append",
        dest="plugin_files",
        metavar="FILE",
        help="Load a plugin from one Python file.",
    )
    group.addoption("--effort", choices=list(EFFORTS), default=NORMAL.name, help="How much each check tries.")
    group.addoption("--kit-seed", type=int, default=0, metavar="N", help="The seed that everything is drawn from.")
