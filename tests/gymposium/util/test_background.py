"""The background loop cancels pending coroutines at its end, and no caller waits forever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from gymposium.errors import GymposiumError
from gymposium.util.background import BackgroundLoop


async def nothing() -> None:
    pass


async def answer(number: int) -> int:
    return number


def test_runs_coroutines_for_synchronous_callers() -> None:
    loop = BackgroundLoop("test")
    assert loop.run(answer(4)) == 4
    loop.end(nothing)
    loop.join()


def test_pending_coroutines_are_cancelled_at_the_end() -> None:
    loop = BackgroundLoop("test")
    waiting = loop.submit(asyncio.Event().wait())
    loop.end(nothing)
    with pytest.raises(CancelledError):
        waiting.result(timeout=30)
    loop.join()


def test_submitting_after_the_end_is_refused() -> None:
    loop = BackgroundLoop("test")
    loop.end(nothing)
    with pytest.raises(GymposiumError, match="closed"):
        loop.submit(answer(1))
    loop.join()
    with pytest.raises(GymposiumError, match="closed"):
        loop.submit(answer(1))


def test_failing_last_coroutine_still_ends_the_loop() -> None:
    async def fails() -> None:
        raise OSError("gone")

    loop = BackgroundLoop("test")
    loop.end(fails)
    loop.join()


def test_may_be_ended_from_within_and_twice() -> None:
    loop = BackgroundLoop("test")
    done: list[int] = []

    async def last() -> None:
        done.append(1)

    async def ends_it() -> None:
        loop.end(last)
        loop.end(last)

    loop.submit(ends_it())
    loop.join()
    assert done == [1]


def test_callers_during_the_end_are_not_left_waiting() -> None:
    for _ in range(50):
        loop = BackgroundLoop("test")
        start = threading.Barrier(2)

        def ask(loop: BackgroundLoop = loop, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                while True:
                    loop.submit(answer(1)).result(timeout=30)
            except (GymposiumError, CancelledError):
                pass

        asking = threading.Thread(target=ask)
        asking.start()
        start.wait()
        loop.end(nothing)
        asking.join(timeout=60)
        assert not asking.is_alive()
        loop.join()


def test_program_exits_while_the_loop_runs() -> None:
    program = (
        "import asyncio\n"
        "from gymposium.util.background import BackgroundLoop\n"
        "loop = BackgroundLoop('test')\n"
        "async def wait(begun):\n"
        "    begun.set()\n"
        "    await asyncio.Event().wait()\n"
        "import threading\n"
        "begun = threading.Event()\n"
        "future = loop.submit(wait(begun))\n"
        "begun.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
