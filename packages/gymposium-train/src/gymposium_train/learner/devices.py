"""The device that a learner computes on, and what the device supports."""

from __future__ import annotations

import torch

FLASH_CAPABILITY = (8, 0)
"""The lowest compute capability of NVIDIA GPUs that run FlashAttention's kernels (Ampere)."""
FLASH_HEADS = 256
"""The maximum head size of FlashAttention's kernels, which must also be a multiple of 8."""


def find_learning_device() -> torch.device:
    """Return the device that this process learns on."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def supports_flash_attention(device: torch.device, dtype: torch.dtype, head_size: int) -> bool:
    """Return True if FlashAttention's kernels compute heads of this size, in this number type, on this device."""
    return (
        device.type == "cuda"
        and dtype in (torch.bfloat16, torch.float16)
        and head_size <= FLASH_HEADS
        and head_size % 8 == 0
        and torch.cuda.get_device_capability(device) >= FLASH_CAPABILITY
    )
