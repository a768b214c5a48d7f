"""LoRA adapters on a model: attaching a new one, loading a saved one.

PEFT is imported where it is used: that takes seconds, and a run without adapters needs none of it.
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

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.lora.files import CONFIG, MAX_RANK, PLAYER, WEIGHTS, Adapter, check_target_names, read_adapter
from gymposium_agents.lora.patterns import check_patterns
from gymposium_agents.modeling.sources import on_this_machine_only


@contextmanager
def without_pefts_warning() -> Iterator[None]:
    """Hide the warning that PEFT 0.21 uses a deprecated attribute of transformers 5.23. Users cannot act on it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        yield


def attach_lora(model: Any, *, rank: int, alpha: int, seed: int, targets: Collection[str] | None = None) -> Any:
    """`model`, frozen, with a new LoRA on top of it, without dropout. The LoRA's weights follow from `seed`; PEFT
    initializes them such that the policy is unchanged at first. `targets` are names of linear layers (`q_proj`), by
    default all of them but the output layer.

    Raises `BadOption` for a rank, an alpha or targets that cannot be trained or served, and `GymposiumError` if the
    model has an adapter."""
    if not 1 <= rank <= MAX_RANK:
        raise BadOption(f"A LoRA of rank {rank} cannot be used: take 1 to {MAX_RANK}, usually 8 to 64.")
    if alpha < 1:
        raise BadOption(f"A LoRA's alpha cannot be {alpha}: take 1 or more, usually once or twice the rank.")
    if hasattr(model, "peft_config"):
        raise GymposiumError("The model has an adapter already. Attach to the model itself: load it again.")
    if targets is not None:
        check_targets(model, targets)
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        target_modules="all-linear" if targets is None else sorted(targets),
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(), without_pefts_warning():
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def check_targets(model: Any, targets: Collection[str]) -> None:
    """Raises `BadOption` if a LoRA cannot be attached to these layers of a model. The model's weights are not used."""
    output = model.get_output_embeddings()
    layers = (name for name in _linear_layers(model) if output is None or model.get_submodule(name) is not output)
    check_target_names(targets, {name.rpartition(".")[2] for name in layers})


def load_lora(model: Any, adapter: str | Path) -> Any:
    """`model` with a saved adapter on top of it. `adapter` is a directory or a hub name.

    Raises `GymposiumError` if there is no such adapter, and if it is for another model."""
    from peft import PeftModel

    directory = adapter_directory(adapter)
    files = read_adapter(directory)
    _check_fits(model, files, adapter)
    check_patterns(files.config, model, adapter)
    with without_pefts_warning():
        return PeftModel.from_pretrained(model, str(directory))


def adapter_directory(adapter: str | Path) -> Path:
    """The directory with an adapter's files: the directory itself, or the cached copy of a hub name.

    Raises `GymposiumError` if there is neither."""
    if Path(adapter).is_dir():
        return Path(adapter)
    try:
        here = on_this_machine_only(adapter)
        return Path(snapshot_download(str(adapter), allow_patterns=[CONFIG, WEIGHTS, PLAYER], local_files_only=here))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError) as error:
        raise GymposiumError(
            f"There is no adapter at {str(adapter)!r}: give the directory that holds one, or the name of one on the "
            f"hub. ({error})"
        ) from error


def _linear_layers(model: Any) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of every linear layer, quantized ones included, by name."""
    return {
        name: (int(layer.in_features), int(layer.out_features))
        for name, layer in model.named_modules()
        if hasattr(layer, "in_features") and hasattr(layer, "out_features")
    }


def _check_fits(model: Any, adapter: Adapter, source: str | Path) -> None:
    """Raises `GymposiumError` unless the model has each layer that the adapter changes, with the adapter's sizes."""
    layers = _linear_layers(model)
    base = f" It was made on {adapter.base!r}." if adapter.base else ""
    for name, (inputs, _, outputs) in adapter.layers.items():
        size = layers.get(name)
        if size != (inputs, outputs):
            there = "has no such layer" if size is None else f"has {size[0]} inputs and {size[1]} outputs there"
            raise GymposiumError(
                f"The adapter {str(source)!r} is for another model: it changes {name} ({inputs} inputs, {outputs} "
                f"outputs), and {getattr(model.config, 'name_or_path', '') or 'this model'} {there}.{base} Name the "
                f"model that it was trained on."
            )
