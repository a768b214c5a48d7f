"""Ctrl-C and SIGTERM wait for a safe moment, but a second signal does not."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from gymposium.cli.resume import TerminationSignal
from gymposium_train.util.progress import handle_interruption


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, TerminationSignal)]
)
def test_first_signal_waits_and_second_interrupts(number: int, raised: type[KeyboardInterrupt]) -> None:
    before = signal.getsignal(number)
    with handle_interruption() as stop:
        stop.stop_here()
        os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt) as stopped:
            stop.stop_here()
        assert type(stopped.value) is raised
        with pytest.raises(KeyboardInterrupt) as stopped:
            os.kill(os.getpid(), number)
        assert type(stopped.value) is raised
    assert signal.getsignal(number) is before


def test_signals_are_ignored_outside_the_main_thread() -> None:
    def run() -> bool:
        with handle_interruption() as stop:
            stop.stop_here()
        return True

    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result()
    assert signal.getsignal(signal.SIGINT) is before
