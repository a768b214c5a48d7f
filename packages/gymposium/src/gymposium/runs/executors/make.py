"""Executors by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import host
from gymposium.runs.executors.protocol import Executor, ExecutorStart

LOCAL = "local"


def check_executor(name: str) -> None:
    """Raise `UnknownName` with the available names if there is no such executor."""
    known = host().executors
    if name not in known:
        raise make_unknown_name("executor", name, known, host().plugins)


@contextmanager
def open_executor(name: str, start: ExecutorStart) -> Iterator[Executor]:
    """Open the executor with this name, and close it at the end.

    Raises `UnknownName` with the available names, `MissingExtra` if it is not installed, and any error from its
    start."""
    check_executor(name)
    executor: Executor = host().implementation(host().executors[name])(start)
    try:
        yield executor
    finally:
        executor.close()
