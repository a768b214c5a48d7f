"""Whether vLLM can serve an adapter on the model that a server serves. vLLM copies what fits of smaller matrices into
larger ones, leaves out what it does not know, and says nothing, so this is settled before it is asked."""

from __future__ import annotations

from pathlib import Path

from gymposium.errors import GymposiumError
from gymposium_agents.lora.files import Adapter, unservable
from gymposium_agents.sources import NO_TRUST, reading

READS_HIDDEN = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj")
WRITES_HIDDEN = ("o_proj", "down_proj")

CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""The widths of attention heads that vLLM 0.32 has code for on CPUs (`v1/attention/backends/cpu_attn.py`)."""


def check_fits(adapter: Adapter, directory: Path, model: str) -> None:
    """Looks for what vLLM leaves out, and compares the widths of the adapter's layers, and their number, with the
    model's `config.json`. Where that cannot be had (a server's own name for a model), only the canary can tell.

    Raises `GymposiumError` for an adapter that vLLM cannot serve, and for one of another model."""
    from transformers import AutoConfig

    if reasons := unservable(adapter.config, adapter.shapes):
        raise GymposiumError(
            f"vLLM cannot serve the adapter in {directory}: {'; '.join(reasons)}. Play it in this process (leave "
            f"engine= out of the player's name), or merge it into a model and serve that (gymposium lora merge)."
        )
    try:
        config = AutoConfig.from_pretrained(model, **reading(model, NO_TRUST)).get_text_config()
    except (OSError, ValueError):
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
    """Whether the build for CPUs knows attention heads of this model's width. A model whose `config.json` cannot be had
    passes: what is wrong with it the server says.

    Raises `GymposiumError` with the widths that it knows."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(model, **reading(model, NO_TRUST)).get_text_config()
    except (OSError, ValueError):
        return
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if unknown := heads_unknown(width):
        raise GymposiumError(
            f"vLLM cannot serve {model}: {unknown}. Play it in this process (without engine= or --start-server), or "
            f"take another model."
        )


def heads_unknown(width: int) -> str | None:
    """Why the build for CPUs knows no attention heads of this width; None where it does."""
    if width in CPU_HEADS:
        return None
    return f"its attention heads are {width} wide, and vLLM for CPUs knows {', '.join(map(str, CPU_HEADS))}"
