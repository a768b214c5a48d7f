"""Linear layers with twice the float32 sampling speed on AMD processors.

PyTorch uses MKL for products of float32 matrices. On processors from vendors other than Intel, MKL uses at most AVX2.
oneDNN, which PyTorch uses for 16 bits, uses AVX-512 on processors from all vendors.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

WORTH_ONEDNN = 2**24
"""Minimum number of multiplications for using oneDNN. Its fixed cost is higher than MKL's."""


class FastLinear(nn.Linear):
    """A linear layer that computes large float32 products with oneDNN in inference mode, without gradients."""

    def forward(self, states: Tensor) -> Tensor:
        large = states.numel() * self.out_features >= WORTH_ONEDNN
        if large and torch.is_inference_mode_enabled() and states.dtype == self.weight.dtype == torch.float32:
            product: Tensor = torch.ops.mkldnn._linear_pointwise(states, self.weight, self.bias, "none", [], "")
            return product
        return super().forward(states)


def speed_up_linear_layers(model: Any) -> None:
    """Replace the linear layers of a model with `FastLinear`, if that is faster on its processor. Results differ only
    by rounding."""
    if model.device.type == "cpu" and is_mkl_slow():
        for layer in model.modules():
            if type(layer) is nn.Linear:
                layer.__class__ = FastLinear


@cache
def is_mkl_slow() -> bool:
    """Return True if the processor has AVX-512, but PyTorch's MKL does not use it."""
    processor = torch.cpu.get_capabilities()
    unused = str(processor.get("cpu_name")).startswith("AMD") and processor.get("avx512_f", False)
    has_mkl: bool = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return bool(unused) and has_mkl and has_onednn
