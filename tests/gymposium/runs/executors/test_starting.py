"""Worker processes: Ctrl-C while one starts, and the death of their parent."""

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


KILLED = """
import os, signal, time
from concurrent.futures import ProcessPoolExecutor
from gymposium.runs.executors.starting import init_worker
from gymposium.util.child_process import spawn_context
if __name__ == "__main__":
    with ProcessPoolExecutor(1, spawn_context(), init_worker) as pool:
        pool.submit(os.getpid).result()
        pool.submit(time.sleep, 100)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_busy_worker_ends_with_its_killed_parent() -> None:
    # the worker has the parent's stdout, so its end is waited for
    done = subprocess.run([sys.executable, "-P", "-c", KILLED], capture_output=True, timeout=50)
    assert done.returncode == -signal.SIGKILL, done.stderr
