"""Tensors of which each process may have a part: whole again, and in parts."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from gymposium_train.parallel.world import World


def full(tensor: Tensor) -> Tensor:
    """The whole of a tensor, in every process; all ask for it together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def collected(tensor: Tensor, world: World) -> Tensor | None:
    """The whole of a tensor, in the CPU's memory of the first process. The others get None: they send their parts, and
    need memory for no more than that. All ask for it together."""
    if not isinstance(tensor, DTensor):
        return tensor.detach().cpu().contiguous() if world.leads else None
    mine = tensor.to_local().detach().cpu().contiguous()
    if not world.leads:
        if len(mine):
            dist.send(mine, dst=0)
        return None
    whole = torch.empty(tensor.shape, dtype=tensor.dtype)
    for rank, part in enumerate(_parts(whole, world)):
        if rank == 0:
            part.copy_(mine)
        elif len(part):
            dist.recv(part, src=rank)
    return whole


def handed_out(whole: Tensor | None, like: Tensor, world: World) -> Tensor:
    """A whole tensor of the first process, where `like` is, of its type, and in the part of it that `like` is. The
    other processes have None, and get no more than their part. All ask for it together."""
    if not isinstance(like, DTensor):
        found = world.told(whole)
        assert found is not None
        return found.to(like.device, like.dtype)
    mine = torch.empty_like(like.to_local(), device="cpu")
    if whole is None:
        if len(mine):
            dist.recv(mine, src=0)
    else:
        for rank, part in enumerate(_parts(whole.to("cpu", like.dtype), world)):
            if rank == 0:
                mine.copy_(part)
            elif len(part):
                dist.send(part.contiguous(), dst=rank)
    mesh, placements = like.device_mesh, like.placements
    return DTensor.from_local(mine.to(like.device), mesh, placements, shape=like.shape, stride=like.stride())


def _parts(whole: Tensor, world: World) -> list[Tensor]:
    """Each process's part of a tensor, some of them empty: FSDP2 cuts the first dimension, as `Tensor.chunk` does."""
    size = -(-len(whole) // world.size)
    return [whole[rank * size : (rank + 1) * size] for rank in range(world.size)]
