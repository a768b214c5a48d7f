"""The names of this distribution's tasks, solvers and scorers in Inspect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def name_in_gymposium(function: F) -> F:
    """Register the function under the package `gymposium`. Inspect names a task, solver or scorer after its module's
    package, so `gymposium_inspect.tasks.match` would be `gymposium_inspect/match`. Place this decorator below
    Inspect's."""
    function.__module__ = "gymposium"
    return function
