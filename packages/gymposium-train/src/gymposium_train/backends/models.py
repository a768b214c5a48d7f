"""A run's models on this machine: their directories and loaders."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import torch

from gymposium.util.streams import stream
from gymposium_agents.chat.chat import Chat
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.models.loading import LoadedModel, load_chat, load_model, load_skeleton
from gymposium_agents.models.merge import load_merged_model
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory, stage_directory
from gymposium_train.config.model import Tune
from gymposium_train.learner.precision import choose_compute_type
from gymposium_train.learner.tensor_files import copy_weights

META = torch.device("meta")
"""The device of models without weights."""


def find_initial_model(directory: RunDirectory, config: TrainConfig) -> str | Path:
    """Return the model before the cold start: the one named in the config, or the run's small model."""
    return config.model.name or directory.base


def find_cold_start_model(directory: RunDirectory, config: TrainConfig) -> str | Path:
    """Return the model after the cold start, where reinforcement learning begins. Without a cold start, this is the
    original model, not a copy."""
    return directory.cold_start if config.cold_start.is_used else find_initial_model(directory, config)


def find_trained_model(directory: RunDirectory, config: TrainConfig) -> tuple[str | Path, Path | None]:
    """Return the result of reinforcement learning: a model, and its adapter if a LoRA was trained."""
    if config.model.tune == "full":
        return directory.model, None
    return find_cold_start_model(directory, config), directory.adapter


def load_run_model(
    config: TrainConfig,
    name: str | Path,
    adapter: Path | None = None,
    *,
    whole: bool = False,
    device: torch.device | None = None,
) -> LoadedModel:
    """Load a model in the run's number type, quantized if the config says so. With `whole`, which is for training all
    weights, the model is in float32 and not quantized. `device` is as in `load_model`."""
    load, trust = (None if whole else config.model.load), config.model.trust
    dtype = torch.float32 if whole else choose_compute_type(config.optimizer.precision)
    loaded = load_model(name, adapter, load, trust, dtype=dtype, device=device)
    if config.prompting.thinking or config.prompting.history != "template":
        loaded.chat = make_chat(config, name)
    return loaded


def make_chat(config: TrainConfig, name: str | Path) -> Chat:
    """Load the tokenizer and chat template of a run's model."""
    prompting = config.prompting
    return load_chat(name, thinking=prompting.thinking, history=prompting.history, trust=config.model.trust, sees=True)


def load_for_reinforcement(config: TrainConfig, name: str | Path, device: torch.device | None = None) -> LoadedModel:
    """Load the model at `name` for reinforcement learning, with a new LoRA if the run trains one. `device` is as in
    `load_for_imitation`."""
    return _load_for_learning(config, name, config.model.tune, "lora", device)


def load_for_imitation(config: TrainConfig, name: str | Path, device: torch.device | None = None) -> LoadedModel:
    """Load the model at `name` for imitation, to train all of its weights or a new LoRA. On torch's `meta` device, the
    model has no weights and takes no memory. The default is a GPU if there is one."""
    return _load_for_learning(config, name, config.cold_start.tune, "imitation", device)


def _load_for_learning(
    config: TrainConfig, name: str | Path, tune: Tune, key: str, device: torch.device | None
) -> LoadedModel:
    """Load the model at `name` to train all of its weights, or a new LoRA initialized from the seed and the key."""
    whole, empty = tune == "full", device == META
    if empty:
        dtype, trust = torch.float32 if whole else choose_compute_type(config.optimizer.precision), config.model.trust
        loaded = LoadedModel(load_skeleton(name, trust, dtype).eval(), make_chat(config, name), trust)
    else:
        loaded = load_run_model(config, name, whole=whole, device=device)
    if not whole:
        lora, seed = config.model.lora, stream(config.seed, key).getrandbits(48)
        with META if empty else nullcontext():
            loaded.model = attach_lora(loaded.model, rank=lora.rank, alpha=lora.alpha, seed=seed, targets=lora.targets)
    return loaded


def export_checkpoint(directory: RunDirectory, config: TrainConfig, checkpoint: Path, target: Path) -> None:
    """Write a checkpoint's weights as a model, or as the adapter if a LoRA is trained."""
    loaded = load_for_reinforcement(config, find_cold_start_model(directory, config))
    copy_weights(checkpoint, loaded.model)
    save_trained_model(config, loaded, target)


def save_trained_model(config: TrainConfig, loaded: LoadedModel, target: Path) -> None:
    """Write the trained model, or the adapter if a LoRA was trained, with its player's settings."""
    with stage_directory(target) as staging:
        if hasattr(loaded.model, "peft_config"):
            save_lora(loaded.model, staging)
        else:
            loaded.save(staging)
        config.evaluated_player.save(staging)


def save_imitated_model(config: TrainConfig, loaded: LoadedModel, name: str | Path, target: Path) -> None:
    """Write the result of imitation, with its player's settings. A LoRA is merged into a float32 copy of the model at
    `name`."""
    with stage_directory(target) as staging:
        if hasattr(loaded.model, "peft_config"):
            adapter = staging / "adapter"
            save_lora(loaded.model, adapter)
            load_merged_model(name, adapter, trust=config.model.trust).save_pretrained(staging)
            shutil.rmtree(adapter)
            loaded.chat.save(staging)
        else:
            loaded.save(staging)
        config.evaluated_player.save(staging)


def format_player_name(name: str | Path, adapter: Path | None = None) -> str:
    """Return the player name that commands use for a model, or for an adapter on it."""
    return f"lm:{name}" if adapter is None else f"lm:{name}@{adapter}"
