"""Save an adapter in PEFT's format. vLLM loads the same files (`gymposium_agents.engines.vllm.fits` for its limits)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from gymposium.errors import GymposiumError
from gymposium.util.durable import replace_file, replace_text
from gymposium_agents.lora.files import CONFIG, WEIGHTS


def save_lora(model: Any, directory: str | Path, *, adapter: str | None = None) -> None:
    """Write a LoRA of the PEFT model `model` to `directory`: `adapter_config.json` and `adapter_model.safetensors`, in
    float32. The files are at the root of the directory for any adapter name. PEFT would put adapters not called
    "default" into a subdirectory, where vLLM does not look. `adapter` is the adapter's name, by default that of the
    active one. Equal adapters give equal files.

    Raises `GymposiumError`, before anything is written, if the model has no such adapter, or if it is not a LoRA."""
    from peft import LoraConfig, get_peft_model_state_dict  # takes seconds, and a run without adapters does not need it

    name = adapter if adapter is not None else find_active_adapter(model)
    config = model.peft_config.get(name)
    if config is None:
        raise GymposiumError(f"Unknown adapter {name!r}. Adapters of the model: {', '.join(model.peft_config)}.")
    if not isinstance(config, LoraConfig):
        raise GymposiumError(
            f"The adapter {name!r} has the type {config.peft_type}, but only a LoRA can be saved. Name a LoRA."
        )
    settings = {key: _convert_to_json(value) for key, value in config.to_dict().items()}  # type: ignore[no-untyped-call]
    settings["inference_mode"] = True  # a loaded adapter is not trained unless the caller requests it
    tensors = get_peft_model_state_dict(model, adapter_name=name, save_embedding_layers=False)
    weights = {key: value.detach().to("cpu", torch.float32).contiguous() for key, value in sorted(tensors.items())}
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    # not `save_file`, whose file only this user could read: a server may run as another user
    with replace_file(directory / WEIGHTS) as file:
        file.write(save(weights, metadata={"format": "pt"}))
    replace_text(directory / CONFIG, json.dumps(settings, indent=2, sort_keys=True) + "\n")


def find_active_adapter(model: Any) -> str:
    """Return the name of the model's active adapter. Raises `GymposiumError` unless there is exactly one."""
    if not hasattr(model, "peft_config"):
        raise GymposiumError("The model has no adapter to save. Attach one with attach_lora.")
    names = list(model.active_adapters)
    if len(names) != 1:
        raise GymposiumError(f"The model's active adapters are {', '.join(names) or 'none'}. Name the one to save.")
    return str(names[0])


def _convert_to_json(value: Any) -> Any:
    """Convert a value to JSON types. Sets are sorted, so that equal adapters give equal files."""
    return sorted(value) if isinstance(value, set | frozenset) else value
