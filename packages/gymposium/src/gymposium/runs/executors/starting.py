"""Handling of Ctrl-C in worker processes.

A terminal sends it to every process, but only the main process handles it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from types import FrameType


@contextmanager
def delay_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, and protect a process started in the block.

    A half-started process would print a traceback. The inherited signal mask is not sufficient, because Python handles
    signals in the main thread."""
    pressed: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    handles = threading.current_thread() is threading.main_thread() and callable(handler)
    if handles:
        signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if handles:
            signal.signal(signal.SIGINT, handler)
    if pressed and callable(handler):
        handler(*pressed[0])


def init_worker() -> None:
    """Prepare a process started in `delay_ctrl_c`.

    It ignores Ctrl-C, and ends with its parent process, even if the parent is killed."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "workers are started by multiprocessing"
    parent.join()
    os._exit(1)
