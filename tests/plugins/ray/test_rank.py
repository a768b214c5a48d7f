"""The process of a rank: all of its output is read, and it ends with everything that it started."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gymposium_ray import rank as rank_module
from gymposium_ray.rank import Rank
from gymposium_ray.surroundings import Setup

BEGIN = """
import os, signal, subprocess, sys, time
print(subprocess.Popen(["sleep", "1000"]).pid, flush=True)
"""
"""The beginning of a plugin that does not come to an end: a child, whose id it prints."""
Started = Callable[[str], Rank]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Start a rank that loads a plugin with this code."""
    ranks: list[Rank] = []

    def start(code: str) -> Rank:
        (tmp_path / "endless.py").write_text(BEGIN + code)
        ranks.append(Rank(Setup.here(())))
        source = str(Path(__file__).parents[3] / "plugins/gymposium-ray/src")
        arguments = ["--plugin", str(tmp_path / "endless.py"), "list"]
        ranks[-1].start(arguments, str(tmp_path), {"PYTHONPATH": source})
        return ranks[-1]

    yield start
    for rank in ranks:
        assert rank._process is not None
        with suppress(ProcessLookupError):
            os.killpg(rank._process.pid, signal.SIGKILL)
        with rank._process:
            pass


def read(stream: Callable[[], bytes]) -> bytes:
    """All output of a stream, to its end."""
    return b"".join(iter(stream, b""))


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that waits for its parent does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_failure_fills_no_pipe_and_leaves_no_process(started: Started) -> None:
    rank = started("print('x' * 1_000_000, 'no memory left', file=sys.stderr, flush=True); os._exit(7)")
    statuses: list[int] = []
    ending = threading.Thread(target=lambda: statuses.append(rank.ended()))
    ending.start()
    errors = read(rank.errors)  # ends though the child holds the pipe
    child = int(rank.output())
    ending.join()
    assert statuses == [7]
    assert errors.endswith(b"no memory left\n")
    assert len(errors) > 1_000_000
    assert not is_alive(child)


def test_stop_ends_a_rank_that_does_not_answer_and_all_that_it_started(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_module, "GRACE", 0.2)
    rank = started("signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(1000)")
    output = rank.output()
    while b"ready" not in output:
        output += rank.output()
    rank.stop()
    assert rank.ended() == 128 + signal.SIGKILL
    assert not is_alive(int(output.split()[0]))
    rank.stop()  # again does nothing


def test_ctrl_c_reaches_a_rank_that_a_thread_without_signals_started(started: Started) -> None:
    def mask() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        rank = started("print(signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True); os._exit(0)")
        assert rank.ended() == 0
        found.append(read(rank.output))

    found: list[bytes] = []
    thread = threading.Thread(target=mask)
    thread.start()
    thread.join()
    assert found[0].splitlines()[1] == b"set()"


def test_a_rank_ends_with_the_process_that_started_it(started: Started) -> None:
    rank = started("print('ready', flush=True); time.sleep(1000)")
    child = int(rank.output().split()[0])
    assert rank._process is not None
    assert rank._process.stdin is not None
    rank._process.stdin.close()  # as the end of this process would
    assert rank.ended() == 128 + signal.SIGKILL
    assert not is_alive(child)
