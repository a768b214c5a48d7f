"""LoRA adapters on a model: attach a new one, or load a saved one.

PEFT is imported on use, because importing it takes seconds and a run without adapters does not need it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from torch import nn
from transformers.pytorch_utils import Conv1D

from gymposium.errors import BadOption, GymposiumError, describe_error
from gymposium_agents.lora.files import CONFIG, MAX_RANK, PLAYER, WEIGHTS, Adapter, check_target_names, read_adapter
from gymposium_agents.lora.patterns import check_patterns
from gymposium_agents.modeling.sight import is_vision_model
from gymposium_agents.modeling.sources import is_only_local


@contextmanager
def hide_peft_warning() -> Iterator[None]:
    """Hide the warning that PEFT 0.21 uses a deprecated attribute of transformers 5.23. Users cannot act on it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        yield


def attach_lora(model: Any, *, rank: int, alpha: int, seed: int, targets: Collection[str] | None = None) -> Any:
    """Return `model`, frozen, with a new LoRA on top of it, without dropout. The LoRA's weights follow from `seed`.
    PEFT initializes them such that the policy is unchanged at first. `targets` are names of linear layers (`q_proj`).
    Default: all that `list_targets` returns.

    Raises `BadOption` for a rank, an alpha or targets that cannot be trained or served, and `GymposiumError` if the
    model already has an adapter."""
    if not 1 <= rank <= MAX_RANK:
        raise BadOption(f"A LoRA cannot have rank {rank}. Use 1 to {MAX_RANK}, usually 8 to 64.")
    if alpha < 1:
        raise BadOption(f"A LoRA cannot have alpha {alpha}. Use 1 or more, usually once or twice the rank.")
    if hasattr(model, "peft_config"):
        raise GymposiumError("The model already has an adapter. Load the model again and attach to that.")
    if targets is not None:
        check_targets(model, targets)
    from peft import LoraConfig, get_peft_model

    chosen = list_targets(model) if targets is None else sorted(targets)
    if not chosen:
        raise BadOption(f"{type(model).__name__} has no linear layers for a LoRA. Train all weights instead.")

    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        target_modules=chosen,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(), hide_peft_warning():
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def check_targets(model: Any, targets: Collection[str]) -> None:
    """Raise `BadOption` if a LoRA cannot be attached to these layers of a model. The model's weights are not used."""
    check_target_names(targets, {name.rpartition(".")[2] for name in list_targets(model)})


def list_targets(model: Any) -> list[str]:
    """Return the full names of the layers that can have a LoRA: all linear layers except the output.

    In a mixture of experts, experts and routers are tensors, not linear layers. PEFT renames targets such as
    `gate_proj` to these tensors, so linear layers with such names are left out, too."""
    from peft import LoraConfig
    from peft.utils.transformers_weight_conversion import convert_peft_config_for_transformers
    from transformers.conversion_mapping import get_model_conversion_mapping

    output = model.get_output_embeddings()
    names = [name for name in _find_linear_layers(model) if output is None or model.get_submodule(name) is not output]
    if is_vision_model(model.config):  # the vision parts are not trained
        decoder = {*model.get_decoder().modules()}
        names = [name for name in names if model.get_submodule(name) in decoder]
    config = LoraConfig(target_modules=names)
    convert_peft_config_for_transformers(config, model=model, conversions=get_model_conversion_mapping(model))
    return [name for name in names if name in (config.target_modules or ())]


def load_lora(model: Any, adapter: str | Path) -> Any:
    """Return `model` with a saved adapter on top of it. `adapter` is a directory or a hub name.

    Raises `GymposiumError` if the adapter does not exist, or is for another model."""
    from peft import PeftModel

    directory = find_adapter_directory(adapter)
    files = read_adapter(directory)
    _check_fits(model, files, adapter)
    check_patterns(files.config, model, adapter)
    try:
        with hide_peft_warning():
            return PeftModel.from_pretrained(model, str(directory))
    except Exception as error:  # PEFT raises errors of all kinds for odd values in a config
        raise GymposiumError(
            f"PEFT cannot load the adapter {str(adapter)!r}: {describe_error(error).rstrip('.')}. Save the "
            f"adapter again."
        ) from error


def find_adapter_directory(adapter: str | Path) -> Path:
    """Return the directory with an adapter's files: the given directory, or the cached copy of a hub name.

    Raises `GymposiumError` if neither exists."""
    if Path(adapter).is_dir():
        return Path(adapter)
    try:
        here = is_only_local(adapter)
        return Path(snapshot_download(str(adapter), allow_patterns=[CONFIG, WEIGHTS, PLAYER], local_files_only=here))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError) as error:
        raise GymposiumError(
            f"No adapter at {str(adapter)!r}. Give an adapter's directory, or its name on the hub. ({error})"
        ) from error


def _find_linear_layers(model: Any) -> dict[str, tuple[int, int]]:
    """Return inputs and outputs of every linear layer by name, including quantized ones and those of GPT-2."""
    return {
        name: (int(layer.nx), int(layer.nf))
        if isinstance(layer, Conv1D)
        else (int(layer.in_features), int(layer.out_features))
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear | Conv1D)
    }


def _check_fits(model: Any, adapter: Adapter, source: str | Path) -> None:
    """Raise `GymposiumError` unless the model has each layer that the adapter changes, with the adapter's sizes."""
    layers = _find_linear_layers(model)
    base = f" It was made on {adapter.base!r}." if adapter.base else ""
    for name, (inputs, _, outputs) in adapter.layers.items():
        size = layers.get(name)
        if size != (inputs, outputs):
            there = "has no such layer" if size is None else f"has {size[0]} inputs and {size[1]} outputs there"
            raise GymposiumError(
                f"The adapter {str(source)!r} is for another model: it changes {name} ({inputs} inputs, {outputs} "
                f"outputs), but {getattr(model.config, 'name_or_path', '') or 'this model'} {there}.{base} Name the "
                f"model it was trained on."
            )
