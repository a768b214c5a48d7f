"""The executor `local`: processes on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from gymposium.errors import GymposiumError
from gymposium.plugins.host import host
from gymposium.runs.executors.crew import WorkerPool
from gymposium.runs.executors.protocol import ExecutorStart, PartResult, RunPart
from gymposium.runs.executors.starting import delay_ctrl_c, init_worker
from gymposium.util.child_process import spawn_context

T = TypeVar("T")
R = TypeVar("R")


class LocalExecutor:
    """An executor that plays parts and calls functions in processes on this machine."""

    def __init__(self, workers: int) -> None:
        """Use `workers` processes. With one worker, `map` runs in this process."""
        self._workers = workers
        self._crew = WorkerPool(workers)
        self._pool: ProcessPoolExecutor | None = None

    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        return self._crew.run(parts)

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[int, R]]:
        if self._workers == 1:
            yield from ((number, function(item)) for number, item in enumerate(items))
            return
        with delay_ctrl_c():
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._workers, spawn_context(), _init_process)
        waiting = enumerate(items)
        numbers: dict[Future[R], int] = {}
        try:
            while True:
                with delay_ctrl_c():  # the first items start a process
                    for number, item in islice(waiting, 2 * self._workers - len(numbers)):
                        numbers[self._pool.submit(function, item)] = number
                if not numbers:
                    return
                for done in wait(numbers, return_when=FIRST_COMPLETED).done:
                    yield numbers.pop(done), done.result()
        except BrokenProcessPool as error:
            raise GymposiumError("A worker process died during a call. Run with --jobs 1 to see where.") from error

    def close(self) -> None:
        self._crew.close()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def make_local(start: ExecutorStart) -> LocalExecutor:
    """Return an executor with this number of workers, by default one per core."""
    return LocalExecutor(start.workers or os.cpu_count() or 1)


def _init_process() -> None:
    init_worker()
    host()  # items may have classes from plugins
