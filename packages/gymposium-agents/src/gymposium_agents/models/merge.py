"""Merge a LoRA adapter into its base model, for servers that do not support adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer

from gymposium.errors import GymposiumError
from gymposium.util.durable import write_directory
from gymposium.util.plain_file import read_plain
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.lora.attach import find_adapter_directory, load_lora
from gymposium_agents.lora.files import PLAYER
from gymposium_agents.modeling.sight import Sight, is_vision_model
from gymposium_agents.modeling.sources import NO_TRUST, Trust, make_missing_model_error, prepare_reading
from gymposium_agents.models.loading import load_weights


def merge_lora(model: str | Path, adapter: str | Path, out: str | Path, *, trust: Trust = NO_TRUST) -> Path:
    """Write `model` with the merged weights of `adapter` to the directory `out`, and return the directory. The result
    is an ordinary model directory with the tokenizer and the `player.json` of the adapter, or else of the model. The
    sum is computed in float32 and saved in the model's number type, so that a 16-bit model is rounded once.

    Raises `GymposiumError` for a missing, incomplete or quantized model, for an adapter that does not fit, and for an
    `out` that is in use."""
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GymposiumError(f"{out} is already in use. Name an empty or new directory.")
    try:
        config = AutoConfig.from_pretrained(model, **prepare_reading(model, trust))
        tokenizer = AutoTokenizer.from_pretrained(model, **prepare_reading(model, trust))
    except (OSError, ValueError) as error:
        raise make_missing_model_error(model, error) from error
    if getattr(config, "quantization_config", None) is not None:
        raise GymposiumError(
            f"{str(model)!r} is quantized, so a merge would round away part of what the adapter learned. Merge into "
            f"the unquantized model, or serve the adapter beside the quantized one."
        )
    files = find_adapter_directory(adapter)
    settings = next((place / PLAYER for place in (files, Path(model)) if (place / PLAYER).is_file()), None)
    if settings is not None:
        PlayerSettings.beside(settings.parent)  # raises for what holds no settings, such as a link elsewhere
    merged = load_merged_model(model, files, trust=trust)
    with write_directory(out) as staging:
        merged.to(config.dtype or torch.float32).save_pretrained(staging)
        if is_vision_model(config):
            Sight.load(model, trust).save(staging)
        tokenizer.save_pretrained(staging)
        if settings is not None:
            (staging / PLAYER).write_bytes(read_plain(settings))
    return out


def load_merged_model(model: str | Path, adapter: str | Path, *, trust: Trust = NO_TRUST) -> Any:
    """Return the transformers model with the merged weights of `adapter`, in float32. Raises the errors of
    `load_weights` and `load_lora`."""
    base = load_weights(model, trust, dtype=torch.float32)
    return load_lora(base, adapter).merge_and_unload(safe_merge=True)
