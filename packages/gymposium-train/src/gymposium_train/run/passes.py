"""Settings that follow from the memory: how processes hold the model, the layout of rows, and the size of a pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any

from gymposium.errors import GymposiumError
from gymposium_agents.models.loading import build_skeleton
from gymposium_train.config import Optimizer, TrainConfig
from gymposium_train.config.learn import TOKENS_PER_PASS
from gymposium_train.config.model import find_architecture
from gymposium_train.config.reading import change_config
from gymposium_train.learner.precision import choose_compute_type
from gymposium_train.run.memory import LearningDevices, RunMemory, estimate_longest_prompt, estimate_memory

COMFORTABLE = 0.5
"""Maximum share of a device's memory that a run fills before it gives up time-saving settings."""
REPLICATED = 0.25
"""Maximum share of a device's memory for the weights of a model that each process holds as a whole."""
FEWEST_TOKENS, MOST_TOKENS = 1_024, 65_536
"""Bounds of the number of tokens per pass chosen from the memory. More do not make a GPU faster."""
SAVING = (
    ("optimizer.checkpointing=true", "optimizer.layout=packed"),
    ("optimizer.token_budget=1024",),
    ("optimizer.precision=bf16",),
    ("model.tune=lora",),
    ("model.load=4bit",),
)
"""Changes of settings that save memory, starting with the cheapest."""


def choose_parallel(config: TrainConfig, devices: LearningDevices | None = None) -> TrainConfig:
    """Return the config with `optimizer.parallel` chosen for several processes, unless given: a LoRA on a model whose
    weights are a small part of a device's memory is replicated."""
    devices = devices or LearningDevices.find(config)
    if devices.processes == 1 or config.optimizer.parallel is not None or config.backend.kind != "local":
        return config
    architecture = find_architecture(config.model) if config.model.tune == "lora" else None
    if architecture is None:  # all weights are trained, or the size of the model is unknown
        return _change_optimizer(config, {"parallel": "shard"})
    model = build_skeleton(architecture, config.model.trust, choose_compute_type(config.optimizer.precision))
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    is_small = size <= REPLICATED * devices.memory
    return _change_optimizer(config, {"parallel": "replicate" if is_small else "shard"})


def choose_passes(config: TrainConfig, devices: LearningDevices | None = None) -> TrainConfig:
    """Return the config with `optimizer.layout`, `optimizer.checkpointing` and `optimizer.token_budget` chosen, unless
    given: the fastest that fit comfortably on the devices, by default those of this machine. Only the layout is chosen
    for small models, and only layout and checkpointing for models that are not on this machine."""
    optimizer = config.optimizer
    is_given = None not in (optimizer.layout, optimizer.checkpointing, optimizer.token_budget)
    if is_given or config.backend.kind != "local":
        return config
    devices = devices or LearningDevices.find(config)
    choices = _list_choices(optimizer, devices)
    if config.model.name is None:
        return _change_optimizer(config, choices[0])
    if find_architecture(config.model) is None:
        return _change_optimizer(config, choices[-1])
    longest = estimate_longest_prompt(config)  # the same for all choices
    for choice in choices[:-1]:
        chosen = _change_optimizer(config, choice)
        if tokens := _fit_tokens(chosen, longest, devices, fewest=TOKENS_PER_PASS):
            return _change_optimizer(chosen, {"token_budget": tokens})
    chosen = _change_optimizer(config, choices[-1])
    if optimizer.token_budget is not None:
        return chosen
    return _change_optimizer(chosen, {"token_budget": _fit_tokens(chosen, longest, devices) or FEWEST_TOKENS})


def _list_choices(optimizer: Optimizer, devices: LearningDevices) -> list[dict[str, Any]]:
    """Return the permitted values of layout and checkpointing, the fastest first. `shared` is for single processes on a
    CPU: on a GPU, packed rows with FlashAttention are faster, and prefixes are seldom long enough to matter."""
    layout, checkpointing = optimizer.layout, optimizer.checkpointing
    shares = layout == "shared" or not (devices.is_gpu or devices.processes > 1)
    return [
        {"layout": layout or choice, "checkpointing": kept}
        for choice, kept in (*([("shared", False)] if shares else []), ("packed", False), ("packed", True))
        if layout in (None, choice) or (layout == "padded" and choice == "packed")
        if checkpointing in (None, kept)
    ] or [{"layout": layout or "packed", "checkpointing": bool(checkpointing)}]


def _change_optimizer(config: TrainConfig, values: Mapping[str, Any]) -> TrainConfig:
    return config.model_copy(update={"optimizer": config.optimizer.model_copy(update=values)})


def _fit_tokens(config: TrainConfig, longest: int, devices: LearningDevices, *, fewest: int = FEWEST_TOKENS) -> int:
    """Return a number of tokens per pass whose update fits comfortably: a power of two within the bounds for the
    device, or the given number. Returns 0 if not even `fewest` fit.

    The memory of an update grows at most linearly with its tokens, so one estimate is enough. The engine's cache does
    not count: it limits itself, and is empty during an update."""
    needed = estimate_memory(config, longest, devices)
    given, free = config.optimizer.token_budget, COMFORTABLE * needed.device - needed.resting
    update = needed.learner.activations + needed.learner.logits
    if given is not None:
        return given if update <= free else 0
    fitting = free / update * config.optimizer.tokens_per_pass
    if fitting < fewest:
        return 0
    return min(1 << int(math.log2(fitting)), MOST_TOKENS if devices.is_gpu else TOKENS_PER_PASS)


def find_fitting_settings(config: TrainConfig) -> tuple[str, RunMemory] | None:
    """Find settings that make an oversized run fit, and the memory it then needs. Tries each setting of `SAVING` alone,
    then more and more of them together. Returns None if no settings help."""
    alone = [names for names in SAVING if _is_valid_change(config, names)]
    together = [tuple(chain(*alone[:count])) for count in range(2, len(alone) + 1)]
    longest = estimate_longest_prompt(config)  # the same for all of them
    for names in (*alone, *together):
        memory = estimate_memory(change_config(config, *names), longest)
        if memory.fits:
            return " ".join(names), memory
    return None


def _is_valid_change(config: TrainConfig, overrides: tuple[str, ...]) -> bool:
    """Return True if these settings are valid and differ from the config's."""
    try:
        return change_config(config, *overrides) != config
    except GymposiumError:  # such as 4 bits with all weights trained
        return False
