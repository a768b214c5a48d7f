"""The process of a rank: its output is read completely, and it ends everything that it started."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gymposium_ray import rank as rank_module
from gymposium_ray.node_setup import Setup
from gymposium_ray.rank import Rank

from .child_pipe import ChildPipe


class StartedRanks:
    """Starts ranks that load a plugin with a child that does not end by itself."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._ranks = directory, list[Rank]()
        self.child = ChildPipe(directory / "child")

    def __call__(self, code: str) -> Rank:
        """Start a rank that loads a plugin with this code."""
        plugin = self._directory / "endless.py"
        plugin.write_text(f"{self.child.start}\nimport signal, sys, time\n{code}")
        self._ranks.append(Rank(Setup.from_process(())))
        source = str(Path(__file__).parents[3] / "plugins/gymposium-ray/src")
        self._ranks[-1].start(["--plugin", str(plugin), "list"], str(self._directory), {"PYTHONPATH": source})
        return self._ranks[-1]

    def close(self) -> None:
        for rank in self._ranks:
            assert rank._process is not None
            with suppress(ProcessLookupError):
                os.killpg(rank._process.pid, signal.SIGKILL)
            with rank._process:
                pass
        self.child.close()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[StartedRanks]:
    with closing(StartedRanks(tmp_path)) as made:
        yield made


def read(stream: Callable[[], bytes]) -> bytes:
    """All output of a stream, to its end."""
    return b"".join(iter(stream, b""))


def test_failing_rank_fills_no_pipe_and_leaves_no_process(started: StartedRanks) -> None:
    rank = started("print('x' * 1_000_000, 'no memory left', file=sys.stderr, flush=True); os._exit(7)")
    statuses: list[int] = []
    ending = threading.Thread(target=lambda: statuses.append(rank.wait()))
    ending.start()
    errors = read(rank.read_errors)  # ends though the child holds the pipe
    ending.join()
    assert statuses == [7]
    assert errors.endswith(b"no memory left\n")
    assert len(errors) > 1_000_000
    assert started.child.child_ends()


def test_stop_kills_an_unresponsive_rank_and_its_children(
    started: StartedRanks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_module, "GRACE", 0.2)
    rank = started("signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(1000)")
    assert rank.read_output().startswith(b"ready")
    rank.stop()
    assert rank.wait() == 128 + signal.SIGKILL
    assert started.child.child_ends()
    rank.stop()  # again does nothing


def test_ctrl_c_reaches_ranks_started_with_blocked_signals(started: StartedRanks) -> None:
    def mask() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        rank = started("print(signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True); os._exit(0)")
        assert rank.wait() == 0
        found.append(read(rank.read_output))

    found: list[bytes] = []
    thread = threading.Thread(target=mask)
    thread.start()
    thread.join()
    assert found == [b"set()\n"]


def test_rank_ends_with_its_parent_process(started: StartedRanks) -> None:
    rank = started("print('ready', flush=True); time.sleep(1000)")
    assert rank.read_output().startswith(b"ready")
    assert rank._process is not None
    assert rank._process.stdin is not None
    rank._process.stdin.close()  # as the end of this process would
    assert rank.wait() == 128 + signal.SIGKILL
    assert started.child.child_ends()
