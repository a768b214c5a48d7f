"""Peak memory, as metrics."""

from __future__ import annotations

import resource
import sys

import torch

_MAXRSS = 1 if sys.platform == "darwin" else 1024
"""Bytes in a unit of `ru_maxrss`."""


def peak_memory() -> dict[str, float]:
    """The most memory that this process has held so far, in MiB: `perf/memory_host` and, if there is a GPU,
    `perf/memory_device`, which is what torch has allocated on it."""
    metrics = {"perf/memory_host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS / 2**20}
    if torch.cuda.is_available():
        metrics["perf/memory_device"] = torch.cuda.max_memory_allocated() / 2**20
    return metrics
