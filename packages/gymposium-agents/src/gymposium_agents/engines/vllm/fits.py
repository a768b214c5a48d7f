"""Checks that vLLM can serve a model, and an adapter on it. vLLM silently truncates the matrices of an unfit adapter
and omits unknown ones, so these checks run before a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError
from gymposium_agents.lora.files import Adapter, list_unservable_features
from gymposium_agents.modeling.sources import NO_TRUST, prepare_reading

READS_HIDDEN = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "fc1")
WRITES_HIDDEN = ("o_proj", "down_proj", "out_proj", "fc2")

EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
"""Keys for the number of experts in transformers' configurations."""

CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Attention head widths supported by vLLM 0.32 on CPUs (`v1/attention/backends/cpu_attn.py`)."""


def check_fits(adapter: Adapter, directory: Path, model: str) -> None:
    """Check that vLLM supports all parts of an adapter, and that the adapter's widths and number of layers match the
    model's `config.json`. If that cannot be read, because `model` is a server's own name, only the canary detects an
    adapter of another model.

    Raises `GymposiumError` for an adapter that vLLM cannot serve, and for one of another model."""
    if reasons := list_unservable_features(adapter.config, adapter.shapes):
        raise GymposiumError(
            f"vLLM cannot serve the adapter in {directory}: {'; '.join(reasons)}. Play it in this process (omit "
            f"engine= from the player's name), or merge it into a model and serve that (gymposium lora merge)."
        )
    if (config := _load_text_config(model)) is None:
        return
    hidden, depth = config.hidden_size, config.num_hidden_layers
    for name, (inputs, _, outputs) in adapter.layers.items():
        *path, last = name.split(".")
        width = inputs if last in READS_HIDDEN else outputs if last in WRITES_HIDDEN else hidden
        numbers = [int(part) for part in path if part.isdecimal()]
        if width != hidden or (numbers and numbers[0] >= depth):
            raise GymposiumError(
                f"The adapter in {directory} is for another model than {model}, which has {depth} layers of width "
                f"{hidden}: it changes {name}, of width {width}. It was made on {adapter.base or 'an unnamed model'}."
            )


def check_heads(model: str) -> None:
    """Check that the CPU build supports the width of this model's attention heads. A model with an unreadable
    `config.json` passes, and the server reports what is wrong with it.

    Raises `GymposiumError` with the supported widths."""
    if (config := _load_text_config(model)) is None:
        return
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if unknown := explain_unsupported_heads(width):
        raise GymposiumError(
            f"vLLM cannot serve {model}: {unknown}. Play it in this process (without engine= or --start-server), or "
            f"use another model."
        )


def check_adapters_on_cpu(model: str) -> None:
    """Check that the CPU build can serve LoRAs of this model. vLLM 0.32 cannot start with LoRAs of a mixture of experts
    on a CPU, because their kernels need Triton. A model with an unreadable `config.json` passes.

    Raises `GymposiumError` for a mixture of experts."""
    config = _load_text_config(model)
    if any(getattr(config, name, None) for name in EXPERTS):
        raise GymposiumError(
            f"vLLM on a CPU cannot serve a LoRA of {model}, because it is a mixture of experts. Set engine.kind=own or "
            f"shared, or use a GPU."
        )


def explain_unsupported_heads(width: int) -> str | None:
    """Return the reason why the CPU build does not support attention heads of this width, or None if it does."""
    if width in CPU_HEADS:
        return None
    return f"its attention heads are {width} wide, but vLLM for CPUs only supports {', '.join(map(str, CPU_HEADS))}"


def _load_text_config(model: str) -> Any | None:
    """Return the configuration of a model's text part, or None if it cannot be read."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(model, **prepare_reading(model, NO_TRUST)).get_text_config()
    except (OSError, ValueError):
        return None
