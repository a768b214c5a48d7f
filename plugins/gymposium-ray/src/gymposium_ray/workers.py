"""Ray actors with one worker process each, supervised by a worker pool as on a single machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from gymposium.errors import GymposiumError
from gymposium.runs.executors.crew import WorkerPool
from gymposium.runs.executors.protocol import PartResult, RunPart
from gymposium_ray.causes import describe_cause
from gymposium_ray.node_setup import Setup
from gymposium_ray.nodes import Nodes

PATIENCE = 60.0
"""Seconds without a free node before the user is told."""

MOST_DEATHS = 3
"""Number of worker deaths during a job before it is given up."""
MOST_FAILURES = 10
"""Maximum number of workers that may die before their first answer."""


class Worker:
    """An actor that plays parts in a separate process, one after another."""

    def __init__(self, setup: Setup) -> None:
        setup.apply()
        self._crew = WorkerPool(1)

    def node(self) -> str:
        """Return the id of the node."""
        return str(ray.get_runtime_context().get_node_id())

    def play(self, part: RunPart) -> PartResult:
        """Play a part."""
        [done] = self._crew.run([part])
        return done

    def call(self, function: Callable[[Any], Any], number: int, item: Any) -> tuple[int, Any]:
        """Call a function with an item. Returns the item's number and the result."""
        return number, function(item)


ACTOR: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
"""The Ray actor class. Ray does not restart dead workers, because their parts may have to be divided."""


@dataclass(slots=True)
class Job:
    """A method call for any worker."""

    method: str
    arguments: tuple[Any, ...]
    deaths: int = 0
    """Number of workers that died during the job."""


class Team:
    """The workers of one executor. Dead workers are replaced wherever the cluster has space."""

    def __init__(self, workers: int, setup: Setup, nodes: Nodes, note: Callable[[str], object]) -> None:
        """Create a team of `workers` workers on usable `nodes`. `note` is called with messages for the user."""
        self._most, self._setup, self._nodes, self._note = workers, setup, nodes, note
        self._starting: dict[Any, Any] = {}
        """Workers that have not answered yet, by the reference to their first answer."""
        self._free: list[Any] = []
        self._working: dict[Any, tuple[Any, Job]] = {}
        """Workers with their jobs, by the reference to the result."""
        self._failed = 0
        """Number of workers that died before they answered."""

    def run(self, jobs: Iterator[Job], died: Callable[[Job, str], Iterable[Job]]) -> Iterator[tuple[Job, Any]]:
        """Run jobs as workers become free, and yield each with its result. A job whose worker dies
        is retried. After `MOST_DEATHS` deaths, `died` is called with the job and the cause, and returns replacement
        jobs.

        Raises the errors of jobs, and `GymposiumError` if no node is usable or the cluster is lost."""
        again, told = deque[Job](), False
        for _ in range(self._most - len(self._free)):
            self._start()
        try:
            while True:
                while self._free and (job := again.popleft() if again else next(jobs, None)) is not None:
                    worker = self._free.pop()
                    self._working[getattr(worker, job.method).remote(*job.arguments)] = worker, job
                if self._free and not self._working:
                    return
                ready = self._wait()
                if not ready:
                    self._nodes.refresh()
                    if not self._working and not told:
                        told = True
                        self._report_full_cluster()
                for reference in ready:
                    if reference in self._starting:
                        self._admit(reference)
                        continue
                    worker, job = self._working.pop(reference)
                    try:
                        result = ray.get(reference)
                    except RayActorError as error:
                        job.deaths += 1
                        again += [job] if job.deaths < MOST_DEATHS else died(job, describe_cause(error))
                        self._nodes.refresh()
                        self._start()
                    else:
                        self._free.append(worker)
                        yield job, result
        finally:
            for worker, _ in self._working.values():  # the run ended early
                ray.kill(worker)
            self._working.clear()

    def close(self) -> None:
        """End all workers."""
        for worker in [*self._starting.values(), *self._free]:
            ray.kill(worker)
        self._starting.clear()
        self._free.clear()

    def _start(self) -> None:
        worker = ACTOR.options(label_selector=self._nodes.selector).remote(self._setup)
        self._starting[worker.node.remote()] = worker

    def _wait(self) -> list[Any]:
        """Return the references that are ready; none after a timeout. Raises `GymposiumError` if the cluster is
        lost."""
        try:
            ready, _ = ray.wait([*self._starting, *self._working], num_returns=1, timeout=PATIENCE)
        except RayError as error:
            raise GymposiumError(
                f"The Ray cluster was lost ({describe_cause(error)}). Finished work is saved. "
                f"Run the same command again."
            ) from error
        return list(ready)

    def _admit(self, reference: Any) -> None:
        """Admit a worker after its first answer. Replace a worker that failed to start or runs on an unusable node."""
        worker = self._starting.pop(reference)
        refused = self._nodes.refresh()
        try:
            node = ray.get(reference)
        except RayActorError as error:
            self._failed += not refused
            if self._failed > MOST_FAILURES:
                raise GymposiumError(
                    f"Workers cannot start on the Ray cluster: {describe_cause(error)}. Check the cluster with: ray "
                    "status"
                ) from error
            self._start()
            return
        if self._nodes.can_use(node):
            self._free.append(worker)
        else:
            ray.kill(worker)
            self._start()

    def _report_full_cluster(self) -> None:
        self._note(
            f"Waiting for space on the Ray cluster: {len(self._starting)} workers with one CPU each were requested, "
            f"but the usable nodes have {self._nodes.total('CPU'):g} CPUs."
        )
