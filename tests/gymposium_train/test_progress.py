"""Ctrl-C waits for a safe moment; pressed again, it does not."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from gymposium_train.progress import interruption


def test_the_first_ctrl_c_waits_and_the_second_does_not() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruption() as stop:
        stop.stop_here()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.pressed
        with pytest.raises(KeyboardInterrupt):
            stop.stop_here()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_beside_the_main_thread_signals_are_left_alone() -> None:
    def run() -> bool:
        with interruption() as stop:
            stop.stop_here()
        return stop.pressed

    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() is False
    assert signal.getsignal(signal.SIGINT) is before
