"""Messages of a run, and handling of Ctrl-C and SIGTERM, which stop it at a safe point."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gymposium.cli.resume import TerminationSignal
from gymposium.cli.text import make_stderr_console
from gymposium.util.visible import visible
from gymposium_train.util.processes import count_processes


def print_message(message: str, style: str = "") -> None:
    """Print a line to stderr."""
    make_stderr_console().print(visible(message), style=style, soft_wrap=True)


class Interruption:
    """A signal handler for Ctrl-C and SIGTERM. The first signal stops the run at the next safe point, the second
    immediately."""

    def __init__(self) -> None:
        self._asked: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._asked is not None:
            raise _make_interrupt(number)
        self._asked = number
        # not through rich, which may be in the middle of a line
        os.write(sys.stderr.fileno(), b"\nStopping at the next safe moment (Ctrl-C again: at once) ...\n")

    def stop_here(self) -> None:
        """Raise `KeyboardInterrupt` if the run should stop. Call it at safe points."""
        if self._asked is not None:
            raise _make_interrupt(self._asked)


def _make_interrupt(number: int) -> KeyboardInterrupt:
    return TerminationSignal() if number == signal.SIGTERM else KeyboardInterrupt()


@contextmanager
def handle_interruption() -> Iterator[Interruption]:
    """Handle Ctrl-C and SIGTERM inside the block. Does nothing outside the main thread, because Python allows no
    handlers there. If torchrun started several processes, SIGTERM is not handled: torchrun uses it to end them when one
    has failed."""
    caught = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    numbers = [signal.SIGINT, *([signal.SIGTERM] if count_processes() == 1 else [])]
    before = [signal.signal(number, caught) for number in numbers]
    try:
        yield caught
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
