"""Merging a LoRA adapter into its base model, for servers that take no adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer

from gymposium.errors import GymposiumError
from gymposium.util.durable import whole_directory
from gymposium.util.plain_file import read_plain
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.lora.attach import adapter_directory, load_lora
from gymposium_agents.lora.files import PLAYER
from gymposium_agents.modeling.sources import NO_TRUST, Trust, no_model, reading
from gymposium_agents.models.loading import load_weights


def merge_lora(model: str | Path, adapter: str | Path, out: str | Path, *, trust: Trust = NO_TRUST) -> Path:
    """Write `model` with the weights of `adapter` merged into it to the directory `out`, which is returned. The result
    is an ordinary model directory with the tokenizer and the `player.json` of the adapter, or else of the model. The
    sum is made in float32 and saved in the model's own number type, so that a 16-bit model is rounded once.

    Raises `GymposiumError` for a model that is missing, incomplete or quantized, for an adapter that does not fit, and
    for an `out` that is in use."""
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GymposiumError(f"{out} is in use already: name a directory that is empty or not there yet.")
    try:
        config = AutoConfig.from_pretrained(model, **reading(model, trust))
        tokenizer = AutoTokenizer.from_pretrained(model, **reading(model, trust))
    except (OSError, ValueError) as error:
        raise no_model(model, error) from error
    if getattr(config, "quantization_config", None) is not None:
        raise GymposiumError(
            f"{str(model)!r} is quantized, and a merge would round the adapter to its few bits: what was learned "
            f"would be lost in part. Merge into the model as it was before it was quantized, or serve the adapter "
            f"beside the quantized one."
        )
    files = adapter_directory(adapter)
    settings = next((place / PLAYER for place in (files, Path(model)) if (place / PLAYER).is_file()), None)
    if settings is not None:
        PlayerSettings.beside(settings.parent)  # raises for what holds no settings, such as a link elsewhere
    merged = merged_model(model, files, trust=trust)
    with whole_directory(out) as staging:
        merged.to(config.dtype or torch.float32).save_pretrained(staging)
        tokenizer.save_pretrained(staging)
        if settings is not None:
            (staging / PLAYER).write_bytes(read_plain(settings))
    return out


def merged_model(model: str | Path, adapter: str | Path, *, trust: Trust = NO_TRUST) -> Any:
    """The transformers model with the weights of `adapter` merged into it, in float32. Raises as `load_weights` and
    `load_lora` do."""
    base = load_weights(model, trust, dtype=torch.float32)
    return load_lora(base, adapter).merge_and_unload(safe_merge=True)
