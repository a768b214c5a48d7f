"""Executors by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.plugins.first_party import unknown_name
from gymposium.plugins.host import host
from gymposium.runs.executors.protocol import Executor, ExecutorStart

LOCAL = "local"


def check_executor(name: str) -> None:
    """Raise `UnknownName`, with the names that there are, if there is no executor of this name."""
    known = host().executors
    if name not in known:
        raise unknown_name("executor", name, known, host().plugins)


@contextmanager
def running_executor(name: str, start: ExecutorStart) -> Iterator[Executor]:
    """Context with the executor of this name, which is closed at the end. Raises `UnknownName` with the names that
    there are, `MissingExtra` for one that is not installed, and what the executor raises if it cannot start."""
    check_executor(name)
    executor: Executor = host().implementation(host().executors[name])(start)
    try:
        yield executor
    finally:
        executor.close()
