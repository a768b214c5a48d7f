"""The executor `ray`, which plays parts on the nodes of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import ray

from gymposium.errors import GymposiumError
from gymposium.runs.executors.protocol import ExecutorStart, PartResult, RunPart
from gymposium_ray.cluster import connect
from gymposium_ray.node_setup import Setup
from gymposium_ray.nodes import Nodes
from gymposium_ray.together import run_ranks
from gymposium_ray.workers import MOST_DEATHS, Job, Team

T = TypeVar("T")
R = TypeVar("R")


class RayExecutor:
    """An executor that plays parts on a Ray cluster, and keeps no data there."""

    def __init__(self, start: ExecutorStart) -> None:
        """Connect to the cluster. Raises `GymposiumError` if it is missing or has no usable node."""
        connect(start.address)
        self._setup, self._note = Setup.from_process(start.plugins), start.note
        self._nodes = Nodes(self._setup, start.note)
        try:
            self._nodes.refresh()
        except GymposiumError:
            ray.shutdown()
            raise
        workers = start.workers or max(1, int(self._nodes.total("CPU")))
        self._team = Team(workers, self._setup, self._nodes, start.note)

    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        lost: list[PartResult] = []

        def handle_death(job: Job, how: str) -> list[Job]:
            [part] = job.arguments
            if len(part.numbers) > 1:
                return [Job("play", (replace(part, numbers=(number,)),)) for number in part.numbers]
            lost.append(PartResult(part, broken=Counter([f"its worker died {MOST_DEATHS} times: {how}"])))
            return []

        for _, done in self._team.run((Job("play", (part,)) for part in parts), handle_death):
            yield done
        yield from lost

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[int, R]]:
        def handle_death(job: Job, how: str) -> list[Job]:
            raise GymposiumError(f"Workers of the Ray cluster died {MOST_DEATHS} times on the same task: {how}")

        jobs = (Job("call", (function, number, item)) for number, item in enumerate(items))
        for _, result in self._team.run(jobs, handle_death):
            yield result

    def run_command(self, arguments: list[str], processes: int) -> int:
        return run_ranks(arguments, processes, self._setup, self._nodes, self._note)

    def close(self) -> None:
        self._team.close()
        ray.shutdown()
