"""Tensors of which each process may have a part: whole again, and in parts."""

from __future__ import annotations

from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor


def full(tensor: Tensor) -> Tensor:
    """The whole of a tensor; all processes ask for it together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def laid_out(value: Tensor, like: Tensor) -> Tensor:
    """A whole tensor where `like` is, of its type, and in the part of it that `like` is."""
    value = value.to(like.device, like.dtype)
    if isinstance(like, DTensor):
        return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)
    return value
