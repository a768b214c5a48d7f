"""What a run says while it works, and Ctrl-C that waits for a safe moment."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gymposium.cli.text import err
from gymposium.visible import visible


def say(message: str, style: str = "") -> None:
    """A line for the person who watches, on stderr."""
    err().print(visible(message), style=style, soft_wrap=True)


class Interruption:
    """Whether Ctrl-C was pressed. The first one waits for the next safe moment; a second one stops at once."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        # not through rich, which may be in the middle of a line
        os.write(sys.stderr.fileno(), b"\nStopping at the next safe moment (Ctrl-C again: at once) ...\n")

    def stop_here(self) -> None:
        """This is a safe moment: raises `KeyboardInterrupt` where Ctrl-C was pressed."""
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Catch Ctrl-C while inside. Beside the main thread, where Python has no signals, it is left to whoever runs us."""
    caught = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = signal.signal(signal.SIGINT, caught)
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)
