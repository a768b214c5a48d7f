"""Calls in another process, for code that may crash, hang or run out of memory on untrusted input."""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Event, Lock, Timer
from typing import Any, TypeVar

from gymposium.errors import GymposiumError, describe_error
from gymposium.util.child_process import list_plugin_files, make_python_command, make_python_environment

SECONDS = 120.0
"""Time limit in seconds for one call of a game engine."""
MEMORY = 4 << 30
"""Limit on the process's address space, in bytes."""
_SERVE = "from gymposium.util.isolated import _serve; _serve({seconds!r}, {memory!r})"
_LOAD = "from gymposium.plugins.host import host; host(); "
"""Code that loads one-file plugins, which may define the functions to call."""

T = TypeVar("T")


class CallFailed(GymposiumError):
    """A call in another process raised, took too long, or ended the process."""


class Child:
    """A process that answers calls, one at a time. It starts on the first call, and restarts if it has ended."""

    def __init__(self, what: str, seconds: float, *, cpu_seconds: float = 0.0, memory: int = MEMORY) -> None:
        """`what` names the called code in errors.

        A call that exceeds `seconds`, or a nonzero `cpu_seconds` of CPU time, ends the process. `memory` limits the
        address space, in bytes."""
        self._what, self._seconds, self._cpu_seconds = what, seconds, cpu_seconds
        self._code = _SERVE.format(seconds=cpu_seconds, memory=memory)
        self._process: subprocess.Popen[bytes] | None = None
        self._switches: dict[str, str] = {}
        self._lock = Lock()
        atexit.register(self.end)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return `function(*arguments)`, called in the child process. Within such a process, the call is direct.

        The function must be defined in a module, and its arguments and result must be picklable. Raises `CallFailed` if
        the function raises, takes too long, or ends the process."""
        if _inside:
            return _call_timed(self._cpu_seconds, function, *arguments)
        with self._lock:
            process = self._ensure_started()
            assert process.stdin is not None
            assert process.stdout is not None
            late = Event()

            def give_up() -> None:
                late.set()
                process.kill()

            timer = Timer(self._seconds, give_up)
            timer.daemon = True
            timer.start()
            try:
                pickle.dump((function, arguments), process.stdin)
                process.stdin.flush()
                returned, value = pickle.load(process.stdout)  # noqa: S301 - our own process wrote it
            except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
                raise CallFailed(f"{self._what} {self._wait_for_end(late=late.is_set())}.") from error
            finally:
                timer.cancel()
        if not returned:
            raise CallFailed(value)
        answer: T = value
        return answer

    def _ensure_started(self) -> subprocess.Popen[bytes]:
        """Return the process, restarted if plugins or switches have changed."""
        switches = {name: value for name, value in os.environ.items() if name.startswith("GYMPOSIUM_")}
        if self._process is not None and switches == self._switches:
            return self._process
        self.end()
        self._switches = switches
        self._process = subprocess.Popen(
            make_python_command("-c", _LOAD + self._code if list_plugin_files() else self._code),
            env=make_python_environment({**os.environ, "OPENBLAS_NUM_THREADS": "1"}),  # each reserves address space
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()  # the process ends at the end of its input
            self._wait_for_end(late=False)

    def _wait_for_end(self, late: bool) -> str:
        """Wait for the process to end, and return how it ended, as the end of a sentence."""
        process, self._process = self._process, None
        assert process is not None
        with process:  # closes its pipes
            try:
                code = process.wait(5)  # its pipe is closed, so it is about to end
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        if late:
            return f"took more than {self._seconds:g} s"
        if self._cpu_seconds and code == -signal.SIGVTALRM:
            return f"took more than {self._cpu_seconds:g} s of CPU time"
        return f"ended its process ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


_inside = False
"""True if this process answers isolated calls."""
_ENGINES = Child("The game's engine", SECONDS)


def call_isolated(function: Callable[..., T], *arguments: Any) -> T:
    """Return `function(*arguments)`, called in the game engines' process (see `Child.call`)."""
    return _ENGINES.call(function, *arguments)


def is_isolated() -> bool:
    """Return whether this process answers isolated calls."""
    return _inside


def limit_process(memory: int = MEMORY) -> None:
    """Limit this process's address space to `memory` bytes, and disable core files."""
    for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _serve(cpu_seconds: float, memory: int) -> None:
    """Answer calls until stdin is closed."""
    global _inside
    _inside = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the calling process as well
    limit_process(memory)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # an engine's output must not mix with the answers
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started us
        except EOFError:
            return
        try:
            answer = True, _call_timed(cpu_seconds, function, *arguments)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            answer = False, describe_error(error)
        pickle.dump(answer, answers)
        answers.flush()


def _call_timed(cpu_seconds: float, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function. If the call exceeds `cpu_seconds` of CPU time, this process ends; 0 means no limit."""
    if not cpu_seconds:
        return function(*arguments)
    left, _ = signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)  # without a handler its signal stops C code as well
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, left)
