"""One command in several processes on a cluster, like torchrun on a single machine."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import ray
from ray.exceptions import RayActorError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from gymposium.errors import GymposiumError
from gymposium.util.visible import quantity
from gymposium_ray.causes import describe_cause
from gymposium_ray.node_setup import Setup
from gymposium_ray.nodes import Nodes
from gymposium_ray.rank import GRACE, Rank

PATIENCE = 60.0
"""Seconds before the user is told that the cluster is full."""
TICK = 1.0
"""Maximum delay before a signal is handled, in seconds."""
TAIL = 8192
"""Number of bytes shown from the end of a failed process's output."""
MOST_INTERRUPTIONS = 2
"""Number of times that Ctrl-C is forwarded. The next Ctrl-C ends the processes."""
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses of a command stopped by the user."""


class RankActor(Rank):
    """The actor that runs the command of one rank."""

    def find_place(self) -> tuple[str, int]:
        """Return the node's address and a free port."""
        return ray.util.get_node_ip_address(), self.find_free_port()


ACTOR: Any = ray.remote(max_restarts=0, max_concurrency=8)(RankActor)
"""The Ray actor class. Calls for both streams, the end and signals run concurrently."""


def run_ranks(
    arguments: Sequence[str], processes: int, setup: Setup, nodes: Nodes, note: Callable[[str], object]
) -> int:
    """Run `gymposium ARGUMENTS` in several processes on usable nodes, with torch's environment variables.

    Each process gets a separate GPU if there are enough. Rank 0's output is printed. Ctrl-C and SIGTERM are forwarded
    to all processes. If a process fails, all other processes are ended, and its last output is shown.

    Returns the exit status of the first process to fail, or else that of rank 0. Raises `GymposiumError` if a process
    is lost."""
    gpu = 1 if nodes.total("GPU") >= processes else 0
    group = _reserve_places(processes, gpu, nodes, note)
    ranks: list[Any] = []
    try:
        ranks += [
            ACTOR.options(
                num_cpus=1,
                num_gpus=gpu,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=rank),
            ).remote(setup)
            for rank in range(processes)
        ]
        return _start_ranks(ranks, arguments, note)
    except RayActorError as error:
        nodes.refresh()
        raise GymposiumError(
            f"A process was lost ({describe_cause(error)}). Resume the run from its last checkpoint with --resume."
        ) from error
    finally:
        if stops := [rank.stop.remote() for rank in ranks]:
            ray.wait(stops, num_returns=len(stops), timeout=2 * GRACE)
        remove_placement_group(group)


def _reserve_places(processes: int, gpu: int, nodes: Nodes, note: Callable[[str], object]) -> PlacementGroup:
    """Return a placement group for the processes, on usable nodes."""
    while True:
        selectors = [nodes.selector] * processes if nodes.selector else None
        bundles = [{"CPU": 1, "GPU": gpu} if gpu else {"CPU": 1}] * processes
        group = placement_group(bundles, strategy="PACK", bundle_label_selector=selectors)
        try:
            if not group.wait(PATIENCE):
                note(
                    f"Waiting for space on the Ray cluster: {processes} processes with one CPU each were requested, "
                    f"but the usable nodes have {nodes.total('CPU'):g} CPUs."
                )
                ray.get(group.ready())
            if not nodes.refresh():
                return group
        except BaseException:
            remove_placement_group(group)
            raise
        remove_placement_group(group)  # a node that joined in the meantime cannot be used


def _start_ranks(ranks: Sequence[Any], arguments: Sequence[str], note: Callable[[str], object]) -> int:
    places = ray.get([rank.find_place.remote() for rank in ranks])
    nodes = [node for node, _ in places]
    note(
        f"{quantity(len(ranks), 'process')} on {', '.join(dict.fromkeys(nodes))}; the first one "
        f"writes the run on {nodes[0]}."
    )
    started = []
    for number, (rank, node) in enumerate(zip(ranks, nodes, strict=True)):
        variables = {
            "MASTER_ADDR": nodes[0],
            "MASTER_PORT": str(places[0][1]),
            "RANK": str(number),
            "WORLD_SIZE": str(len(ranks)),
            "LOCAL_RANK": "0",  # Ray shows each process its own GPU alone
            "LOCAL_WORLD_SIZE": str(nodes.count(node)),
        }
        started.append(rank.start.remote([*arguments], str(Path.cwd()), variables))
    ray.get(started)
    return _RankMonitor(ranks, nodes, note).watch()


class _RankMonitor:
    """A monitor of the ranks' output and ends. It reads all pipes, so no process blocks."""

    def __init__(self, ranks: Sequence[Any], nodes: Sequence[str], note: Callable[[str], object]) -> None:
        self._ranks, self._nodes, self._note = ranks, nodes, note
        self._tails = [b""] * len(ranks)
        """The last output of each process."""
        self._reading = {
            getattr(rank, stream).remote(): (number, stream)
            for number, rank in enumerate(ranks)
            for stream in ("read_output", "read_errors")
        }
        """The process number and stream of each pending read, by the reference to its result."""
        self._ends = {rank.wait.remote(): number for number, rank in enumerate(ranks)}
        """The number of each running process, by the reference to its exit status."""
        self._statuses = [0] * len(ranks)
        self._failed: int | None = None
        """The number of the first process that failed."""
        self._signals = 0

    def watch(self) -> int:
        """Print rank 0's output until all processes have ended. Returns the exit status."""
        passed_on = 0
        with self._count_signals():
            while pending := [*self._reading, *self._ends]:
                ready, _ = ray.wait(pending, num_returns=1, timeout=TICK)
                for reference in ready:
                    if reference in self._reading:
                        self._read(reference)
                    else:
                        self._end(reference)
                for _ in range(self._signals - passed_on):
                    passed_on += 1
                    for rank in self._ranks:
                        (rank.interrupt if passed_on <= MOST_INTERRUPTIONS else rank.stop).remote()
        if self._failed is None:
            return self._statuses[0]
        self._show_failure(self._failed)
        return self._statuses[self._failed]

    def _read(self, reference: Any) -> None:
        number, stream = self._reading.pop(reference)
        text = ray.get(reference)
        if not text:
            return
        self._reading[getattr(self._ranks[number], stream).remote()] = number, stream
        if number:
            self._tails[number] = (self._tails[number] + text)[-TAIL:]
        else:
            shown = sys.stdout if stream == "read_output" else sys.stderr
            shown.buffer.write(text)
            shown.buffer.flush()

    def _end(self, reference: Any) -> None:
        number = self._ends.pop(reference)
        status = self._statuses[number] = ray.get(reference)
        on_demand = self._signals > 0 and status in STOPPED
        if status and not on_demand and self._failed is None:
            self._failed = number
            for other, rank in enumerate(self._ranks):
                if other != number:
                    rank.stop.remote()

    def _show_failure(self, number: int) -> None:
        first = "" if number else " Its output stands above."
        self._note(
            f"Process {number} on {self._nodes[number]} failed first, with exit status {self._statuses[number]}; the "
            f"others were ended.{first}"
        )
        if tail := self._tails[number]:
            sys.stderr.buffer.write(tail)
            sys.stderr.buffer.flush()

    @contextmanager
    def _count_signals(self) -> Iterator[None]:
        """Count Ctrl-C and SIGTERM in this context. Does nothing outside the main thread, where Python allows no
        handlers."""

        def count(number: int, frame: FrameType | None) -> None:
            self._signals += 1

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
