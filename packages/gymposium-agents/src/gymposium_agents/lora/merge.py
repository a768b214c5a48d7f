"""Merging an adapter into the model beneath it, for whoever serves models without adapters."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from gymposium.errors import GymposiumError
from gymposium_agents.durable import whole_directory
from gymposium_agents.lora.attach import adapter_directory, load_lora
from gymposium_agents.lora.files import PLAYER


def merge_lora(model: str | Path, adapter: str | Path, out: str | Path) -> Path:
    """Write `model` with `adapter` worked into its weights to the directory `out`: an ordinary model directory, with
    the tokenizer and, where the adapter or else the model has one, the `player.json` that says how it is asked. The
    sum is made in float32 and saved in the model's own number type, so that of a 16-bit model is rounded once.

    Raises `GymposiumError` for a quantized model, an adapter that does not fit, and an `out` that is in use."""
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GymposiumError(f"{out} is in use already: name a directory that is empty or not there yet.")
    try:
        config = AutoConfig.from_pretrained(model)
        if getattr(config, "quantization_config", None) is not None:
            raise GymposiumError(
                f"{str(model)!r} is quantized, and a merge would round the adapter to its few bits: what was learned "
                f"would be lost in part. Merge into the model as it was before it was quantized, or serve the adapter "
                f"beside the quantized one."
            )
        tokenizer = AutoTokenizer.from_pretrained(model)
        base: Any = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise GymposiumError(
            f"There is no model at {str(model)!r}: give a directory that holds one, or the name of one on the hub. "
            f"({error})"
        ) from error
    files = adapter_directory(adapter)
    merged = load_lora(base, files).merge_and_unload(safe_merge=True)
    merged = merged.to(config.dtype or torch.float32)
    with whole_directory(out) as staging:
        merged.save_pretrained(staging)
        tokenizer.save_pretrained(staging)
        settings = next((place / PLAYER for place in (files, Path(model)) if (place / PLAYER).is_file()), None)
        if settings is not None:
            shutil.copyfile(settings, staging / PLAYER)
    return out
