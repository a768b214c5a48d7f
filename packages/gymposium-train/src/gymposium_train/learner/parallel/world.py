"""Communication between the processes that learn together."""

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
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous
from torch.nn import Parameter

from gymposium_train.util.processes import count_processes

T = TypeVar("T")

COMMAND_TIMEOUT = timedelta(days=7)
"""Timeout of the other processes while they wait for the next command. The first process plays and evaluates between
commands."""
COLLECTIVE_TIMEOUT = timedelta(minutes=30)
"""Timeout of collectives, of the rendezvous at the start, and of command confirmations. If one process hangs, the run
ends with an error."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that learn together, and the rank of this process. All processes call the same collectives in the
    same order."""

    rank: int = 0
    size: int = 1
    store: Store | None = None
    """The key-value store of the rendezvous, also used for commands."""
    _calls: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    @property
    def leads(self) -> bool:
        """True in the first process, which plays, evaluates and writes files."""
        return self.rank == 0

    def all_gather(self, value: T) -> list[T]:
        """Return the values of all processes, by rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def broadcast(self, value: T) -> T:
        """Return the first process's value in every process. The values of the other processes are ignored."""
        values: list[Any] = [value]
        if self.size > 1:
            dist.broadcast_object_list(values, src=0)
        received: T = values[0]
        return received

    def command(self, value: T | None = None) -> T:
        """Send a command to the other processes, or receive it there. Returns when all processes have received it.

        This is a broadcast through the store, and may wait for days. A command that ends the processes must be sent
        this way. With gloo, a thread that still holds an object when Python exits aborts its process
        (pytorch/pytorch#179291)."""
        if self.store is None:
            return self.broadcast(value)  # type: ignore[return-value] # T is the type in the first process
        key = f"command {next(self._calls)}"
        if self.leads:
            self.store.set(key, pickle.dumps(value))  # type: ignore[arg-type] # bytes as well, where its stub says str
            received = [f"{key}, received by {rank}" for rank in range(1, self.size)]
            self.store.wait(received, COLLECTIVE_TIMEOUT)
            for used in (key, *received):
                self.store.delete_key(used)
            return value  # type: ignore[return-value] # T is the type in the first process
        self.store.wait([key], COMMAND_TIMEOUT)
        command: T = pickle.loads(self.store.get(key))  # noqa: S301 (from a process of this run, as gloo's objects are)
        self.store.set(f"{key}, received by {self.rank}", "")
        return command

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Replace the gradient of each parameter with its sum over all processes. Parameters without a gradient in any
        process keep none."""
        if self.size == 1:
            return
        mine = [*parameters]
        having = self.all_gather({n for n, parameter in enumerate(mine) if parameter.grad is not None})
        for n in sorted(set[int]().union(*having)):
            if mine[n].grad is None:
                mine[n].grad = torch.zeros_like(mine[n])
            dist.all_reduce(mine[n].grad)


ALONE = Processes()
"""The single process of a run without torchrun."""


@contextmanager
def join_processes() -> Iterator[Processes]:
    """Connect the processes started by torchrun during the block. Yields `ALONE` if torchrun did not start this
    process. Each process uses a different GPU, if the machine has GPUs."""
    if count_processes() == 1:
        yield ALONE
        return
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"
    store, rank, size = next(rendezvous("env://", timeout=COLLECTIVE_TIMEOUT))
    groups, commands = PrefixStore("groups", store), PrefixStore("commands", store)
    dist.init_process_group(backend, store=groups, rank=rank, world_size=size, timeout=COLLECTIVE_TIMEOUT)
    try:
        yield Processes(rank, size, commands)
    finally:
        dist.destroy_process_group()
