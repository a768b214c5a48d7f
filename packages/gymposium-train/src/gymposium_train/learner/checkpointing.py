"""Gradient checkpointing: the backward pass recomputes activations inside a layer instead of storing them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def use_checkpointing(model: Any, *, enabled: bool = True) -> Iterator[None]:
    """Enable checkpointing of each layer of a transformers model inside the block. Restores the modes of its modules
    afterwards, because an engine may share the model."""
    if not enabled:
        yield
        return
    model.activation_checkpointing_enable({"use_reentrant": False})
    # transformers reads the mode of each layer. The modules inside stay in eval mode, so there is no dropout
    layers = [module for module in model.modules() if getattr(module, "gradient_checkpointing", False)]
    modes = [layer.training for layer in layers]
    for layer in layers:
        layer.training = True
    try:
        yield
    finally:
        model.activation_checkpointing_disable()
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode
