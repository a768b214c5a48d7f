"""Linear layers that sample in float32 twice as fast on processors of AMD.

PyTorch leaves products of float32 matrices to MKL, which uses AVX2 at most on processors that are not Intel's. oneDNN,
which PyTorch takes for 16 bits, uses AVX-512 on all.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

WORTH_ONEDNN = 2**24
"""Number of multiplications from which oneDNN computes a product. Its fixed cost is higher than MKL's."""


class QuickLinear(nn.Linear):
    """A linear layer whose large float32 products are computed by oneDNN in inference mode, without gradients."""

    def forward(self, states: Tensor) -> Tensor:
        large = states.numel() * self.out_features >= WORTH_ONEDNN
        if large and torch.is_inference_mode_enabled() and states.dtype == self.weight.dtype == torch.float32:
            product: Tensor = torch.ops.mkldnn._linear_pointwise(states, self.weight, self.bias, "none", [], "")
            return product
        return super().forward(states)


def quicken(model: Any) -> None:
    """Make the linear layers of a model `QuickLinear`, if it is on a processor on which they are faster. Results differ
    by rounding; everything else stays as it is."""
    if model.device.type == "cpu" and mkl_is_slow():
        for layer in model.modules():
            if type(layer) is nn.Linear:
                layer.__class__ = QuickLinear


@cache
def mkl_is_slow() -> bool:
    """Whether the processor has AVX-512, but PyTorch's MKL does not use it."""
    processor = torch.cpu.get_capabilities()
    unused = str(processor.get("cpu_name")).startswith("AMD") and processor.get("avx512_f", False)
    has_mkl: bool = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return bool(unused) and has_mkl and has_onednn
