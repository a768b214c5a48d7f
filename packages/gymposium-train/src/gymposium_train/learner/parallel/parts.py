"""Gathering and splitting of tensors that may be distributed over the processes."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from gymposium_train.learner.parallel.world import Processes


def all_gather_tensor(tensor: Tensor) -> Tensor:
    """Return the whole tensor in every process. Collective: all processes must call it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gather_tensor(tensor: Tensor, world: Processes) -> Tensor | None:
    """Return the whole tensor on the CPU of the first process. The other processes send their parts, need no extra
    memory, and get None. Collective: all processes must call it."""
    if not isinstance(tensor, DTensor):
        return tensor.detach().cpu().contiguous() if world.leads else None
    mine = tensor.to_local().detach().cpu().contiguous()
    if not world.leads:
        if len(mine):
            dist.send(mine, dst=0)
        return None
    whole = torch.empty(tensor.shape, dtype=tensor.dtype)
    for rank, part in enumerate(_split_tensor(whole, world)):
        if rank == 0:
            part.copy_(mine)
        elif len(part):
            dist.recv(part, src=rank)
    return whole


def broadcast_tensor(whole: Tensor | None, like: Tensor, world: Processes) -> Tensor:
    """Return the first process's tensor on the device and in the type of `like`, split over the processes like `like`.

    The other processes pass None and receive only their part. Collective: all processes must call it."""
    if not isinstance(like, DTensor):
        received = world.broadcast(whole)
        assert received is not None
        return received.to(like.device, like.dtype)
    mine = torch.empty_like(like.to_local(), device="cpu")
    if whole is None:
        if len(mine):
            dist.recv(mine, src=0)
    else:
        for rank, part in enumerate(_split_tensor(whole.to("cpu", like.dtype), world)):
            if rank == 0:
                mine.copy_(part)
            elif len(part):
                dist.send(part.contiguous(), dst=rank)
    return DTensor.from_local(
        mine.to(like.device), like.device_mesh, like.placements, shape=like.shape, stride=like.stride()
    )


def _split_tensor(whole: Tensor, world: Processes) -> list[Tensor]:
    """Return the part of each process, by rank. FSDP2 splits the first dimension like `Tensor.chunk`, so parts may be
    empty."""
    size = -(-len(whole) // world.size)
    return [whole[rank * size : (rank + 1) * size] for rank in range(world.size)]
