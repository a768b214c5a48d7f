"""4-bit weights by bitsandbytes (NF4 with double quantization, as in QLoRA), on a GPU or a CPU."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from transformers import BitsAndBytesConfig

from gymposium.errors import MissingExtra


def make_4bit_config(dtype: torch.dtype) -> BitsAndBytesConfig:
    """Return the quantization config for loading a model in 4 bits that computes in `dtype`.

    Raises `MissingExtra` if bitsandbytes is not installed."""
    if find_spec("bitsandbytes") is None:
        raise MissingExtra("bitsandbytes, which holds weights in 4 bits,", '"gymposium-agents[quantized]"')
    return BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )


def keep_unpacked(model: Any) -> None:
    """Prevent bitsandbytes 0.50 from packing the weights at the first pass without gradients, as it does on a CPU.
    Packed weights always compute in bfloat16, with a kernel without a derivative. A LoRA on top would get zero
    gradients, and the learner's probabilities would differ from the engine's."""
    from bitsandbytes.nn.modules import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False
