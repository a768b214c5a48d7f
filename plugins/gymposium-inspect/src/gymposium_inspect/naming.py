"""The names under which Inspect knows what this distribution registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def of_gymposium(function: F) -> F:
    """The function, as one of the package `gymposium`. Inspect names a task, solver or scorer after the package of its
    module, so that `gymposium_inspect.tasks.match` would be `gymposium_inspect/match`. Stands below Inspect's
    decorator."""
    function.__module__ = "gymposium"
    return function
