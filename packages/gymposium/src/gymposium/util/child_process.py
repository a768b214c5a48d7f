"""Python child processes, started with the safe path and this process's plugins.

`python -c` and `python -m` search the working directory before the standard library, and so do children of
`multiprocessing`. A folder may come from anyone, so a file named `multiprocessing.py` in it must not run. Every Python
process is therefore started with `-P`, and with an environment that applies it to further processes.

One-file plugins (`--plugin FILE`) reach child processes in the environment variable `GYMPOSIUM_PLUGIN_FILES`. Their
plugin host loads them from there. The other global options are environment variables as well (`GYMPOSIUM_ALLOW`,
`GYMPOSIUM_PLUGINS`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from threading import Lock

SAFE_PATH = "PYTHONSAFEPATH"
"""Environment variable that keeps the working directory out of `sys.path`."""
OURS = "gymposium"
"""Gymposium's value for the variable `SAFE_PATH`. Python accepts any nonempty text."""
PLUGIN_FILES = "GYMPOSIUM_PLUGIN_FILES"
"""Environment variable with this process's one-file plugins, one path per line."""

_environment_lock = Lock()


def make_python_command(*arguments: str, python: str | Path | None = None) -> list[str]:
    """Return the command that runs Python with these arguments, without the working directory on its path.

    `python` is the interpreter, by default this one. Start the command with the environment from
    `python_environment`."""
    return [str(python or sys.executable), "-P", *arguments]


def make_python_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return environment variables for a Python process: `variables` (by default the current ones) plus the safe
    path."""
    variables = os.environ if variables is None else variables
    return {**variables, SAFE_PATH: variables.get(SAFE_PATH) or OURS}


def make_user_environment() -> dict[str, str]:
    """Return the environment for a program that the user names, without variables that gymposium sets for its child
    processes."""
    ours = {PLUGIN_FILES} | ({SAFE_PATH} if os.environ.get(SAFE_PATH) == OURS else set())
    return {name: value for name, value in os.environ.items() if name not in ours}


def find_interpreter() -> str:
    """Return the path of this interpreter, resolving the link in a virtual environment."""
    return os.path.realpath(sys.executable)


def guard_children() -> None:
    """Set the safe path in this process's environment, for processes started by libraries.

    Only for programs that own their process, such as commands."""
    os.environ[SAFE_PATH] = os.environ.get(SAFE_PATH) or OURS


class GuardedProcess(SpawnProcess):
    """A spawned process that starts with the safe path."""

    def start(self) -> None:
        """Start the process."""
        with _guard_environment():
            super().start()


class GuardedContext(SpawnContext):
    """The `spawn` context of `multiprocessing`, with guarded processes."""

    Process = GuardedProcess


def spawn_context() -> GuardedContext:
    """Return the context for `multiprocessing`.

    Children are spawned, because forking a process with threads or torch is unsafe."""
    with _guard_environment():
        resource_tracker.ensure_running()  # it is a Python process too, and locks would start it unguarded
    return GuardedContext()


@contextmanager
def _guard_environment() -> Iterator[None]:
    """Set the safe path within the block."""
    with _environment_lock:
        before = os.environ.get(SAFE_PATH)
        guard_children()
        try:
            yield
        finally:
            if before is None:
                del os.environ[SAFE_PATH]


def list_plugin_files() -> list[Path]:
    """Return the one-file plugins of this process and its children."""
    return [Path(line) for line in os.environ.get(PLUGIN_FILES, "").splitlines()]


def add_plugin_file(path: Path) -> None:
    """Make future child processes load a one-file plugin. `path` must be absolute."""
    os.environ[PLUGIN_FILES] = "\n".join(dict.fromkeys([*map(str, list_plugin_files()), str(path)]))
