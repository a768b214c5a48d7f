"""LoRA adapters: attach a new one, load a saved one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model

from gymposium.errors import GymposiumError


@contextmanager
def _without_pefts_warning() -> Iterator[None]:
    """PEFT 0.21 asks transformers 5.23 in a way that it has deprecated; users can do nothing about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        yield


def attach_lora(model: Any, *, rank: int, alpha: int, seed: int) -> Any:
    """`model` with a new LoRA on all its linear layers, frozen beneath it; no dropout. The weights come
    from `seed`, and as PEFT begins them the policy is at first unchanged."""
    config = LoraConfig(r=rank, lora_alpha=alpha, target_modules="all-linear", lora_dropout=0.0, task_type="CAUSAL_LM")
    with torch.random.fork_rng(), _without_pefts_warning():
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def load_lora(model: Any, adapter: str | Path) -> Any:
    """`model` with a saved adapter on top of it: a directory or a hub name.

    Raises `GymposiumError` for a directory that holds none."""
    if Path(adapter).is_dir() and not (Path(adapter) / "adapter_config.json").is_file():
        raise GymposiumError(f"{str(adapter)!r} holds no adapter (adapter_config.json is missing).")
    with _without_pefts_warning():
        return PeftModel.from_pretrained(model, str(adapter))
