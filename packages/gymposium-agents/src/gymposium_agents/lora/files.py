"""The files of an adapter: reading them, and checking whether vLLM can serve the adapter. This module does not import
torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.lora.fields import find_wrong_fields
from gymposium_agents.modeling.model_files import check_plain_files

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PICKLED = "adapter_model.bin"
PLAYER = "player.json"
"""The file with the prompt settings of a model's or an adapter's training."""
MAX_RANK = 512
"""The largest rank that vLLM supports."""

_PREFIX, _A, _B = "base_model.model.", ".lora_A.weight", ".lora_B.weight"
_PLAIN_STARTS = ("gaussian", "eva", "orthogonal", "mica", "lora_ga")
"""Initializations of a LoRA's weights (`init_lora_weights`) that do not change the base model's weights."""
_ENDS = frozenset({"lm_head", "embed_tokens", "embed_out", "wte", "lora_embedding_A", "lora_embedding_B"})
"""Parts of the tensor names in a language model's first or last layer."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """The contents of an adapter's files, without its tensors' numbers."""

    config: Mapping[str, Any]
    """The contents of `adapter_config.json`."""
    shapes: Mapping[str, tuple[int, ...]]
    """The shape of each tensor, by its name in PEFT."""
    dtypes: tuple[str, ...]
    """The number types of the tensors, in safetensors' notation: `F32`, `BF16`."""

    @property
    def rank(self) -> int:
        return int(self.config["r"])

    @property
    def alpha(self) -> float:
        return float(self.config["lora_alpha"])

    @property
    def base(self) -> str | None:
        """The name of the base model at training: a directory or a hub name."""
        name = self.config.get("base_model_name_or_path")
        return str(name) if name else None

    @property
    def layers(self) -> dict[str, tuple[int, int, int]]:
        """Inputs, rank and outputs of each layer that the adapter changes, by the layer's name in the base model."""
        layers = [name.removesuffix(_A) for name in self.shapes if name.endswith(_A)]
        return {
            layer.removeprefix(_PREFIX): (
                self.shapes[layer + _A][-1],
                self.shapes[layer + _A][0],
                self.shapes.get(layer + _B, (0,))[0],
            )
            for layer in layers
        }

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(map(prod, self.shapes.values()))


def read_adapter(directory: str | Path) -> Adapter:
    """Read the adapter in a directory.

    Raises `GymposiumError` if a file is missing or unreadable, or if the two files contradict each other. Also raises
    it for anything but a LoRA, and for a config that names a module to import."""
    from safetensors import SafetensorError, safe_open

    directory = Path(directory)
    if not directory.is_dir():
        raise GymposiumError(f"No adapter at {str(directory)!r}: it is not a directory. Name an adapter's directory.")
    if (directory / PICKLED).is_file() and not (directory / WEIGHTS).is_file():
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has pickled weights ({PICKLED}), which are not supported. If you "
            f"trust them, load the adapter with PEFT and save it again: save_pretrained writes {WEIGHTS}."
        )
    if directory.is_dir():
        check_plain_files(directory)
    for name in (CONFIG, WEIGHTS):
        if not (directory / name).is_file():
            raise GymposiumError(
                f"{str(directory)!r} is not an adapter: {name} is missing. Name the directory with "
                f"adapter_config.json and adapter_model.safetensors."
            )
    try:
        config = parse_strict_json(read_plain_text(directory / CONFIG))
        with safe_open(directory / WEIGHTS, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # not a dict
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            dtypes = tuple(sorted({part.get_dtype() for part in slices.values()}))
    except (ValueError, SafetensorError) as error:
        raise GymposiumError(f"Cannot read the adapter in {str(directory)!r}: {error}. Save it again.") from error
    kind = config.get("peft_type") if isinstance(config, dict) else None
    if kind != "LORA":
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has the type {kind!r}, but only LORA is supported. Use a LoRA."
        )
    if config.get("megatron_config") is not None:
        raise GymposiumError(
            f"The adapter in {str(directory)!r} names a module to import (megatron_core, with megatron_config), which "
            f"is not allowed. Remove both from its {CONFIG}."
        )
    if wrong := find_wrong_fields(config):
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has invalid values in its {CONFIG}: {', '.join(wrong)}. Save it again."
        )
    if flat := [name for name, shape in shapes.items() if name.endswith((_A, _B)) and len(shape) < 2]:
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has a tensor that is not a matrix: {flat[0]}. Save it again."
        )
    adapter = Adapter(config, shapes, dtypes)
    named = {adapter.rank, *(config.get("rank_pattern") or {}).values()}
    ranks = {rank for _, rank, _ in adapter.layers.values()}
    if max(named) > max(ranks | {MAX_RANK}):
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has no weights of rank {max(named)}, but its {CONFIG} names that "
            f"rank. Save it again, or correct the file."
        )
    if ranks - named:
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has weights of rank {_format_list(ranks)}, but its {CONFIG} says "
            f"{_format_list(named)}. The two files do not match. Save the adapter again, or correct them."
        )
    return adapter


def list_extra_changes(config: Mapping[str, Any]) -> list[str]:
    """Return the changes that a LoRA makes in addition to low-rank matrices on its layers. An adapter with such changes
    cannot share its base model with other adapters. `config` contains `adapter_config.json`."""
    bias, saved = config.get("bias", "none"), config.get("modules_to_save")
    start = config.get("init_lora_weights", True)
    return _select_true({
        f"its biases are trained (bias={bias!r})": bias != "none",
        f"it includes whole layers (modules_to_save: {_format_list(saved)})": saved,
        "it trains single tokens (trainable_token_indices)": config.get("trainable_token_indices"),
        "it is active only after certain tokens (alora_invocation_tokens)": config.get("alora_invocation_tokens"),
        "it repeats layers (layer_replication)": config.get("layer_replication"),
        "it is block-diagonal (use_bdlora)": config.get("use_bdlora"),
        f"its initialization changed the base's weights (init_lora_weights={start!r})": isinstance(start, str)
        and start.lower() not in _PLAIN_STARTS,
    })  # fmt: skip


def list_unservable_features(config: Mapping[str, Any], tensors: Collection[str]) -> list[str]:
    """Return the reasons why vLLM would refuse a LoRA, or load it and answer with other weights. Empty if vLLM can
    serve it.

    `config` contains `adapter_config.json`, and `tensors` contains the names in the weights. The reasons are those in
    `vllm/lora/peft_helper.py` of vLLM 0.32, and settings that its later layers ignore without an error
    (vllm-project/vllm#51594)."""
    ends = sorted(name for name in tensors if not _ENDS.isdisjoint(name.split(".")))
    return list_extra_changes(config) + _select_true({
        "it is a DoRA (use_dora)": config.get("use_dora"),
        "its layers have biases (lora_bias)": config.get("lora_bias"),
        "it changes bare parameters (target_parameters)": config.get("target_parameters"),
        "it is a QALoRA (use_qalora)": config.get("use_qalora"),
        f"its rank is above {MAX_RANK}": max([config["r"], *(config.get("rank_pattern") or {}).values()]) > MAX_RANK,
        f"it changes the embedding or the output layer ({', '.join(ends)})": ends,
    })  # fmt: skip


def _select_true(reasons: Mapping[str, object]) -> list[str]:
    return [reason for reason, holds in reasons.items() if holds]


def _format_list(values: Collection[Any] | None) -> str:
    return ", ".join(map(str, sorted(values or (), key=str)))


def check_target_names(targets: Collection[str], layers: Collection[str]) -> None:
    """Raise `BadOption` unless `targets` are some of a model's linear layers, by the last part of their names."""
    unknown = sorted(set(targets) - set(layers))
    if unknown or not targets:
        raise BadOption(
            f"A LoRA cannot target {', '.join(unknown) or 'no layers'}. Use linear layers of the model: "
            f"{', '.join(sorted(layers))}. The output layer, experts and routers cannot have a LoRA."
        )
