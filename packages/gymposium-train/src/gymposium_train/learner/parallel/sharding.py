"""Sharding of a model, one shard per process (FSDP2, which shards each parameter: Zhao et al., 2023, arXiv 2304.11277).

A layer's weights are whole only while it runs. The same holds for its gradients, which are then summed over the
processes. Between steps, every parameter is a `DTensor`, and this process holds a part of it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from gymposium.errors import GymposiumError
from gymposium_train.learner.devices import find_learning_device
from gymposium_train.learner.parallel.parts import broadcast_tensor
from gymposium_train.learner.parallel.world import Processes


def shard_model(whole: nn.Module, model: Any, world: Processes, dtype: torch.dtype) -> None:
    """Shard a model, keeping only this process's part.

    `whole` is the module called once per micro-batch. It contains every part of `model` that runs. Modules outside the
    layers (embeddings, output, the last norm) are gathered once for the call. Gradients are sums over the processes,
    not means, because each loss is already weighted. They are summed in float32, the type of trained parameters.

    Trained shards are the float32 masters. They are gathered rounded to `dtype`, like the copies that a model in one
    process computes with.

    Raises `GymposiumError` if a trained parameter is not part of `whole`."""
    mesh = init_device_mesh(find_learning_device().type, (world.size,))
    kinds = set(model._no_split_modules or ())
    groups: list[Any] = [module for module in whole.modules() if type(module).__name__ in kinds]
    precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    for module in [*groups, whole]:
        module.register_forward_hook(_copy_views)
        fully_shard(module, mesh=mesh, reshard_after_forward=True, mp_policy=precision)
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)  # gloo only supports sums
    unsharded = [name for name, p in model.named_parameters() if p.requires_grad and not isinstance(p, DTensor)]
    if unsharded:
        raise GymposiumError(
            f"{', '.join(unsharded[:3])} would be trained but is not part of the text model, so it cannot be split "
            f"over processes. Train in one process, or set model.tune=lora with model.lora.targets."
        )


def _copy_views(module: nn.Module, inputs: Any, output: Any) -> Any:
    """Return a layer's output with its views replaced by copies. OPT's layers, for example, return views. FSDP2 gathers
    a layer's weights when the gradient of its output arrives, but an in-place operation on a view would prevent
    that."""
    if isinstance(output, Tensor):
        return output.clone() if output.requires_grad and output._base is not None else output
    if type(output) in (tuple, list):
        return type(output)(_copy_views(module, inputs, one) for one in output)
    return output


@torch.no_grad()
def fill_model(model: Any, whole: Any | None, world: Processes) -> None:
    """Allocate memory for a sharded model on the `meta` device, and fill it from `whole`, the complete model of the
    first process. The other processes pass None. Each process receives its part of one tensor at a time. Collective:
    all processes must call it."""
    model.to_empty(device=find_learning_device())
    values = {} if whole is None else {**dict(whole.named_parameters()), **dict(whole.named_buffers())}
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        value = broadcast_tensor(values[name].detach() if world.leads else None, tensor, world)
        if isinstance(tensor, DTensor) and isinstance(value, DTensor):
            tensor.to_local().copy_(value.to_local())
        else:
            tensor.copy_(value)
