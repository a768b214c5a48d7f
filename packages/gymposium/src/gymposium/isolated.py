"""Calls in a process of their own, for engines that can end their process when a stranger's record is played."""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Lock, Timer
from typing import IO, Any, TypeVar

from gymposium.errors import GymposiumError

SECONDS = 120.0
"""How long one call may take."""
MEMORY = 4 << 30
"""How many bytes of addresses the process may use."""

T = TypeVar("T")


class CallFailed(GymposiumError):
    """What was called in a process of its own raised, took too long, or ended the process."""


class _Child:
    """The process, started when it is needed and replaced where it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        with self._lock:
            process = self._process or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            timer = Timer(SECONDS, process.kill)
            timer.daemon = True
            timer.start()
            try:
                pickle.dump((_switches(), function, arguments), process.stdin)
                process.stdin.flush()
                returned, value = pickle.load(process.stdout)  # noqa: S301 - our own process wrote it
            except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
                late = timer.finished.is_set()
                raise CallFailed(f"The game's engine {self._ended(late)}.") from error
            finally:
                timer.cancel()
        if not returned:
            raise CallFailed(value)
        answer: T = value
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from gymposium.isolated import _serve; _serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def end(self) -> None:
        """Let it go."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()  # it ends when nobody can ask it any more
            self._ended(late=False)

    def _ended(self, late: bool) -> str:
        """How the process ended, as the end of a sentence."""
        process, self._process = self._process, None
        assert process is not None
        try:
            code = process.wait(5)  # it has closed its pipe, so it is about to end by itself
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        if late:
            return f"took more than {SECONDS:g} s"
        return f"ended its process ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


_CHILD = _Child()
atexit.register(_CHILD.end)
_inside = False
"""Whether this is the process of a call."""


def isolated(function: Callable[..., T], *arguments: Any) -> T:
    """`function(*arguments)`, called in a process of its own, which later calls use again. The function must be one of
    a module, and what is given and returned can be pickled. Within such a process it is simply called.

    Raises `CallFailed` where it raises, takes too long, or ends the process."""
    return function(*arguments) if _inside else _CHILD.call(function, *arguments)


def _switches() -> dict[str, str]:
    """What the environment says of gymposium now: it may have changed since the process was started."""
    return {name: value for name, value in os.environ.items() if name.startswith("GYMPOSIUM_")}


def is_isolated() -> bool:
    """Whether this runs in such a process already."""
    return _inside


def _serve() -> None:
    """Answer one call after the other until nobody asks any more."""
    global _inside
    _inside = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to whoever waits as well
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an engine prints must not stand between the answers
    _answer(sys.stdin.buffer, answers)


def _answer(calls: IO[bytes], answers: IO[bytes]) -> None:
    while True:
        try:
            switches, function, arguments = pickle.load(calls)  # noqa: S301 - whoever started this process wrote it
        except EOFError:
            return
        os.environ.update(switches)
        try:
            answer = True, function(*arguments)
        except GymposiumError as error:
            answer = False, str(error)
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise; told as text
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()
