"""The processes that learn together, and what they tell each other."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from gymposium_train.parallel.environment import processes

T = TypeVar("T")

IDLE = timedelta(days=7)
"""So long the others wait for the first process's next call, at the store at which they met: it plays and measures."""
TOGETHER = timedelta(minutes=30)
"""So long a process waits for the others in what they do together: to meet, to hear a call, and in every collective
operation of gloo or NCCL. Where one hangs, the run ends."""


@dataclass(frozen=True, slots=True)
class World:
    """All processes, and which of them this one is. What they do here they all do, in the same order."""

    rank: int = 0
    size: int = 1
    store: Store | None = None
    """Where they met."""
    _calls: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    @property
    def leads(self) -> bool:
        """Whether this is the process that plays, measures and writes."""
        return self.rank == 0

    def gathered(self, mine: T) -> list[T]:
        """What each process has, in their order."""
        if self.size == 1:
            return [mine]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, mine)
        return found

    def told(self, what: T | None = None) -> T:
        """What the first process says; the others have nothing to say."""
        said: list[Any] = [what]
        if self.size > 1:
            dist.broadcast_object_list(said, src=0)
        found: T = said[0]
        return found

    def called(self, to: T | None = None) -> T:
        """What the first process calls the others to, between the things that they do together, when all have heard it.
        As `told`, but through the store at which they met. What ends the processes must come this way: a thread of
        gloo's that still holds what it carried when Python ends aborts its process (pytorch/pytorch#179291)."""
        if self.store is None:
            return self.told(to)
        call = f"call {next(self._calls)}"
        if self.leads:
            self.store.set(call, pickle.dumps(to))  # type: ignore[arg-type] # bytes as well, where its stub says str
            heard = [f"{call}, heard by {other}" for other in range(1, self.size)]
            self.store.wait(heard, TOGETHER)
            for key in (call, *heard):
                self.store.delete_key(key)
            return to  # type: ignore[return-value] # it says what T is
        self.store.wait([call], IDLE)
        found: T = pickle.loads(self.store.get(call))  # noqa: S301 (of this run's own processes, as gloo's objects are)
        self.store.set(f"{call}, heard by {self.rank}", "")
        return found

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Let each of the tensors be the sum of what the processes have of it."""
        if self.size > 1:
            for tensor in tensors:
                dist.all_reduce(tensor)


ALONE = World()
"""One process, and nobody to tell."""


@contextmanager
def joined() -> Iterator[World]:
    """The processes that torchrun started, for as long as the block lasts; this one alone where it did not start
    it. Each takes a GPU of its own where there are any."""
    size = processes()
    if size == 1:
        yield ALONE
        return
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"
    store, rank, size = next(rendezvous("env://", timeout=TOGETHER))
    groups, calls = PrefixStore("groups", store), PrefixStore("calls", store)
    dist.init_process_group(backend, store=groups, rank=rank, world_size=size, timeout=TOGETHER)
    try:
        yield World(rank, size, calls)
    finally:
        dist.destroy_process_group()
