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
from gymposium.util.strict_json import strict_json
from gymposium_agents.lora.fields import wrong_fields
from gymposium_agents.modeling.model_files import check_plain_files

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PICKLED = "adapter_model.bin"
PLAYER = "player.json"
"""The file with the settings with which a model or an adapter was trained to be asked."""
MAX_RANK = 512
"""The largest rank that vLLM supports."""

_PREFIX, _A, _B = "base_model.model.", ".lora_A.weight", ".lora_B.weight"
_PLAIN_STARTS = ("gaussian", "eva", "orthogonal", "mica", "lora_ga")
"""Initializations of a LoRA's weights (`init_lora_weights`) that do not change the base model's."""
_ENDS = frozenset({"lm_head", "embed_tokens", "embed_out", "wte", "lora_embedding_A", "lora_embedding_B"})
"""Parts of the names of tensors of a language model's first or last layer."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """The contents of an adapter's files, without the numbers in its tensors."""

    config: Mapping[str, Any]
    """The contents of `adapter_config.json`."""
    shapes: Mapping[str, tuple[int, ...]]
    """The shape of each tensor, by its name in PEFT."""
    dtypes: tuple[str, ...]
    """The number types of the tensors, as safetensors writes them: `F32`, `BF16`."""

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
    """The adapter in a directory.

    Raises `GymposiumError` if a file is missing or cannot be read, if it is not a LoRA, if the config names a module to
    import, or if the two files contradict each other."""
    from safetensors import SafetensorError, safe_open

    directory = Path(directory)
    if not directory.is_dir():
        raise GymposiumError(f"There is no adapter at {str(directory)!r}: it is not a directory.")
    if (directory / PICKLED).is_file() and not (directory / WEIGHTS).is_file():
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has pickled weights ({PICKLED}), which are not read. Load it with PEFT "
            f"where you trust it, and save it again: save_pretrained writes {WEIGHTS}."
        )
    if directory.is_dir():
        check_plain_files(directory)
    for name in (CONFIG, WEIGHTS):
        if not (directory / name).is_file():
            raise GymposiumError(
                f"{str(directory)!r} holds no adapter ({name} is missing). Name the directory in which "
                f"adapter_config.json and adapter_model.safetensors lie."
            )
    try:
        config = strict_json(read_plain_text(directory / CONFIG))
        with safe_open(directory / WEIGHTS, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # not a dict
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            dtypes = tuple(sorted({part.get_dtype() for part in slices.values()}))
    except (ValueError, SafetensorError) as error:
        raise GymposiumError(f"The adapter in {str(directory)!r} cannot be read: {error}. Save it again.") from error
    kind = config.get("peft_type") if isinstance(config, dict) else None
    if kind != "LORA":
        raise GymposiumError(f"The adapter in {str(directory)!r} is of type {kind!r}; only LORA can be used here.")
    if config.get("megatron_config") is not None:
        raise GymposiumError(
            f"The adapter in {str(directory)!r} names a module to be imported (megatron_core, with megatron_config), "
            f"which no file may. Remove both from its {CONFIG}."
        )
    if wrong := wrong_fields(config):
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has values in its {CONFIG} that PEFT does not write: "
            f"{', '.join(wrong)}. Save it again."
        )
    adapter = Adapter(config, shapes, dtypes)
    named = {adapter.rank, *(config.get("rank_pattern") or {}).values()}
    ranks = {rank for _, rank, _ in adapter.layers.values()}
    if max(named) > max(ranks | {MAX_RANK}):
        raise GymposiumError(
            f"The adapter in {str(directory)!r} has no weights of rank {max(named)}, which its {CONFIG} names. Save it "
            "again, or put that right."
        )
    if ranks - named:
        raise GymposiumError(
            f"The adapter in {str(directory)!r} holds weights of rank {_listed(ranks)}, but its {CONFIG} says "
            f"{_listed(named)}: the two files are not of one adapter. Save it again, or put them right."
        )
    return adapter


def changes_more(config: Mapping[str, Any]) -> list[str]:
    """The things that a LoRA does besides adding low-rank matrices to the layers of an unchanged model. An adapter that
    does any of them cannot share its base model with others. `config` holds `adapter_config.json`."""
    bias, saved = config.get("bias", "none"), config.get("modules_to_save")
    start = config.get("init_lora_weights", True)
    return _that_hold({
        f"its biases are trained (bias={bias!r})": bias != "none",
        f"it brings whole layers (modules_to_save: {_listed(saved)})": saved,
        "it trains single tokens (trainable_token_indices)": config.get("trainable_token_indices"),
        "it works behind certain tokens only (alora_invocation_tokens)": config.get("alora_invocation_tokens"),
        "it repeats layers (layer_replication)": config.get("layer_replication"),
        "it is block-diagonal (use_bdlora)": config.get("use_bdlora"),
        f"its start changed the base's weights (init_lora_weights={start!r})": isinstance(start, str)
        and start.lower() not in _PLAIN_STARTS,
    })  # fmt: skip


def unservable(config: Mapping[str, Any], tensors: Collection[str]) -> list[str]:
    """The reasons why vLLM would refuse a LoRA, or load it and answer with other weights; empty if vLLM can serve it.

    `config` holds `adapter_config.json`, `tensors` the names in the weights. The reasons are those in
    `vllm/lora/peft_helper.py` of vLLM 0.32, and settings that its later layers ignore without an error
    (vllm-project/vllm#51594)."""
    ends = sorted(name for name in tensors if not _ENDS.isdisjoint(name.split(".")))
    return changes_more(config) + _that_hold({
        "it is a DoRA (use_dora)": config.get("use_dora"),
        "its layers have biases (lora_bias)": config.get("lora_bias"),
        "it changes bare parameters (target_parameters)": config.get("target_parameters"),
        "it is a QALoRA (use_qalora)": config.get("use_qalora"),
        f"its rank is above {MAX_RANK}": max([config["r"], *(config.get("rank_pattern") or {}).values()]) > MAX_RANK,
        f"it changes the embedding or the output layer ({', '.join(ends)})": ends,
    })  # fmt: skip


def _that_hold(reasons: Mapping[str, object]) -> list[str]:
    return [reason for reason, holds in reasons.items() if holds]


def _listed(values: Collection[Any] | None) -> str:
    return ", ".join(map(str, sorted(values or (), key=str)))


def check_target_names(targets: Collection[str], layers: Collection[str]) -> None:
    """Raises `BadOption` unless `targets` are some of a model's linear layers, by the last part of their names."""
    unknown = sorted(set(targets) - set(layers))
    if unknown or not targets:
        raise BadOption(
            f"A LoRA cannot go on {', '.join(unknown) or 'no layer at all'}: the model's linear layers are called "
            f"{', '.join(sorted(layers))} (the output layer is left out, as vLLM does not serve a LoRA on it)."
        )
