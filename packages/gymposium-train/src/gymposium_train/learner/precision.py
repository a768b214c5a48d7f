"""Number types: a model's type for computation, and its weights' type for learning.

Weights are learned in float32 ("master weights": Micikevicius et al., 2018, arXiv 1710.03740). bfloat16 has 8
significant bits. The neighbors of a weight of 0.02 are 1e-4 away, so an optimizer step of 1e-5 is rounded away. If the
model computes in bfloat16, it holds rounded copies of the weights. Its gradients are accumulated in float32, and each
optimizer step rounds the copies anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from gymposium_agents.engines.canary import choose_tolerance
from gymposium_train.config import Precision


def choose_compute_type(precision: Precision) -> torch.dtype:
    """Return a model's number type for computation on this machine."""
    if precision == "auto":
        has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
        precision = "bf16" if has_bf16 else "fp32"
    return torch.bfloat16 if precision == "bf16" else torch.float32


def compute_tolerance(model: Any, dtype: torch.dtype) -> float:
    """Return the largest rounding difference, in nats, between log-probabilities of this model, computed in `dtype`,
    and of an engine. The coarsest number type decides. Layers with 4-bit weights may compute in a type other than
    `dtype`."""
    types = {dtype}
    if (quantized := getattr(model.config, "quantization_config", None)) is not None:
        types.add(quantized.bnb_4bit_compute_dtype)
    return max(choose_tolerance(str(kind).removeprefix("torch.")) for kind in types)


def convert_to_float32(model: Any) -> None:
    """Convert the trainable parameters of a model to float32."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()


class MasterWeights:
    """The float32 weights that an optimizer updates, while the model may compute with copies in another type."""

    def __init__(self, named: Mapping[str, nn.Parameter]) -> None:
        """`named` are the model's float32 parameters. They serve as masters until `compute_in` makes copies."""
        self.named = dict(named)
        """The parameters that the optimizer updates, by name."""
        self._copies: list[tuple[nn.Parameter, nn.Parameter]] = []
        """Pairs of a model parameter and its master."""

    def compute_in(self, dtype: torch.dtype, model: Any) -> None:
        """Make `model`, which owns these parameters, compute in `dtype`. Parameters that its architecture needs in
        float32 and 4-bit weights are not converted."""
        stays = [pattern.replace("*", ".*") for pattern in getattr(model, "_keep_in_fp32_modules_strict", None) or ()]
        for name, parameter in model.named_parameters():
            computes_so = parameter.dtype == dtype or not parameter.is_floating_point()
            if computes_so or any(re.search(pattern, name) for pattern in stays):
                continue
            if name in self.named:
                master = nn.Parameter(parameter.detach())
                self.named[name] = master
                self._copies.append((parameter, master))
                parameter.register_post_accumulate_grad_hook(partial(_add_gradient, master))
            parameter.data = parameter.detach().to(dtype)

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Round the current weights into the model's copies."""
        for copy, master in self._copies:
            copy.copy_(master)

    @contextmanager
    def in_model(self) -> Iterator[None]:
        """Let the model hold the master weights inside the block, and compute in float32."""
        rounded = [copy.data for copy, _ in self._copies]
        for copy, master in self._copies:
            copy.data = master.data
        try:
            yield
        finally:
            for (copy, _), data in zip(self._copies, rounded, strict=True):
                copy.data = data


def _add_gradient(master: nn.Parameter, copy: nn.Parameter) -> None:
    """Add a micro-batch's gradient to the master's gradient, in float32."""
    gradient, copy.grad = copy.grad, None
    assert gradient is not None
    if master.grad is None:
        master.grad = gradient.float()
    else:
        master.grad.add_(gradient)
