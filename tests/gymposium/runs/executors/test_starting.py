"""Ctrl-C while a worker process starts."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from gymposium.runs.executors.starting import delay_ctrl_c

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


def _start(reached: list[str]) -> None:
    """Ctrl-C, received by another thread, and then the start of a process that says whether it would receive it."""
    may_end = threading.Event()
    other = threading.Thread(target=may_end.wait)
    other.start()
    assert other.ident is not None
    try:
        with delay_ctrl_c():
            signal.pthread_kill(other.ident, signal.SIGINT)
            process = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True)
            reached.append(process.stdout.strip())
    finally:
        may_end.set()
        other.join()


def test_ctrl_c_is_delayed_in_any_thread() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _start(reached)
    assert reached == ["True"]
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_handler_is_restored_without_ctrl_c() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with delay_ctrl_c():
        pass
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
