"""The memory that a run needs on each device, by part."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from typing import Any

import torch

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import find_reply_form
from gymposium_agents.engines.vllm.settings import VllmSettings
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.modeling.caches import CACHE_SHARE, compute_bytes_per_token, get_device_memory
from gymposium_agents.modeling.sight import Sight
from gymposium_agents.models.loading import build_skeleton, load_chat
from gymposium_train.config import TrainConfig
from gymposium_train.config.devices import find_server_share, visible_gpus
from gymposium_train.config.model import find_architecture
from gymposium_train.learner.loss import Loss
from gymposium_train.learner.memory import MASTER, LearnerMemory, estimate_learner_memory
from gymposium_train.learner.precision import choose_compute_type
from gymposium_train.run.lessons import RandomPlay, encode_prompt
from gymposium_train.util.processes import count_local_processes, count_processes

FITS = 0.9
"""Share of a device's memory that a run may fill."""
LESSONS = 64
"""Number of moves sampled from random matches of each game to estimate the longest prompt."""
TURNS = 4
"""Assumed number of turns per match if only the number of decisions in a step is given."""
OWN_MAPPING = 4 * 2**20
"""Minimum size in bytes of a tensor that glibc maps separately. Its memory returns to the system when it is freed."""
_M_MMAP_THRESHOLD = -3


@dataclass(frozen=True, slots=True)
class LearningDevices:
    """The devices that a run learns on, one per process."""

    is_gpu: bool
    memory: int
    """The bytes of memory that a process of the run may use on its device."""
    processes: int = 1
    """Number of processes."""

    @classmethod
    def find(cls, config: TrainConfig) -> LearningDevices:
        """Describe the devices of this machine. The share of the GPU memory that the run's vLLM server takes is left
        out."""
        is_gpu, engine = torch.cuda.is_available(), config.engine.own
        memory = get_device_memory(torch.device("cuda" if is_gpu else "cpu"))
        if isinstance(engine, VllmSettings):
            visible = visible_gpus(os.environ.get("CUDA_VISIBLE_DEVICES"), torch.cuda.device_count())
            memory = round(memory * (1.0 - find_server_share(engine, visible, count_local_processes())))
        return cls(is_gpu, memory if is_gpu else memory // count_local_processes(), count_processes())


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The peak memory in bytes that a run needs on one device, by part."""

    learner: LearnerMemory
    reference: int
    """The copy of the trained weights for the KL penalty, or their moving average in float32."""
    engine: int
    """The weights of an engine that holds a separate model in this process."""
    cache: int
    """Keys and values of the matches played concurrently."""
    pictures: int
    """The features of pictures that models in this process keep."""
    row: int
    """Number of tokens of the longest row."""
    device: int
    """The memory of the device."""

    @property
    def resting(self) -> int:
        """The memory held all the time."""
        learner = self.learner
        return learner.weights + learner.gradients + learner.optimizer + self.reference + self.engine + self.pictures

    @property
    def total(self) -> int:
        """The peak, during the learner's update or the engine's play."""
        return self.resting + max(self.learner.activations + self.learner.logits, self.cache)

    @property
    def fits(self) -> bool:
        return self.total <= FITS * self.device

    def parts(self) -> dict[str, int]:
        """Return the parts by display name."""
        learner = self.learner
        return {
            "weights": learner.weights + self.reference + self.engine,
            "gradients": learner.gradients,
            "optimizer": learner.optimizer,
            "activations": learner.activations,
            "logits": learner.logits,
            "cache": self.cache,
            **({"pictures": self.pictures} if self.pictures else {}),
        }


def estimate_memory(
    config: TrainConfig, longest: int | None = None, devices: LearningDevices | None = None
) -> RunMemory:
    """Estimate the memory that reinforcement learning with a config needs on each of its devices, by default those of
    this machine. `longest` is the length in tokens of the longest prompt. By default, it is estimated from random
    matches.

    Raises `GymposiumError` if the model is not on this machine."""
    architecture = load_architecture(config)
    context = int(architecture.get_text_config(decoder=True).max_position_embeddings)
    limit = min(config.optimizer.max_row or context, context)
    reply = min(config.prompting.reply_limit, limit - 1)
    row = min((longest or estimate_longest_prompt(config)) + reply, limit)
    dtype = choose_compute_type(config.optimizer.precision)

    def make_model() -> Any:
        model = build_skeleton(architecture, config.model.trust, dtype)
        if config.model.tune == "full":
            return model
        lora = config.model.lora
        tuned = attach_lora(model, rank=lora.rank, alpha=lora.alpha, seed=0, targets=lora.targets)
        return tuned.to(dtype)  # PEFT makes adapters in float32

    learner = estimate_learner_memory(
        make_model,
        config.optimizer,
        prompt=row - reply,
        reply=reply,
        attention=config.model.attention,
        four_bits=config.model.load == "4bit",
    )
    devices, rollout = devices or LearningDevices.find(config), config.rollout
    memory = devices.memory
    groups = rollout.groups or max(1, rollout.decisions // (TURNS * rollout.group_size))
    cache = groups * rollout.group_size * row * compute_bytes_per_token(architecture, dtype)
    shards = 1 if config.optimizer.parallel == "replicate" else devices.processes
    width = MASTER if shards > 1 or config.kl.averages_weights else dtype.itemsize
    return RunMemory(
        learner=learner.shard(shards) if shards > 1 else learner,
        reference=learner.trained * width // shards if Loss.from_config(config).needs_reference else 0,
        engine=learner.frozen + learner.trained * dtype.itemsize if config.engine.kind == "own" else 0,
        cache=min(cache, int(CACHE_SHARE * memory)) if config.engine.kind in ("own", "shared") else 0,
        pictures=_estimate_features(config, architecture) * dtype.itemsize,
        row=row,
        device=memory,
    )


def load_architecture(config: TrainConfig) -> Any:
    """Return the architecture of the learner's model, as a transformers config. Raises `GymposiumError` if the model is
    not on this machine."""
    if (architecture := find_architecture(config.model)) is None:
        raise GymposiumError(
            f"{config.model.name} is not on this machine, so its memory cannot be estimated. Download it, or name a "
            f"directory."
        )
    return architecture


def _load_chat(config: TrainConfig) -> Chat | None:
    """Return the chat format of the learner's model, or None for small models, which have no tokenizer yet."""
    name, prompting = config.model.name, config.prompting
    if name is None:
        return None
    return load_chat(name, thinking=prompting.thinking, history=prompting.history, trust=config.model.trust, sees=True)


def _estimate_features(config: TrainConfig, architecture: Any) -> int:
    """Return the number of values in the features of pictures that are kept in memory."""
    chat = None if config.prompting.pictures == "none" else _load_chat(config)
    if chat is None or not isinstance(chat.sight, Sight):
        return 0
    models = 2 if config.engine.kind == "own" else 1
    width = int(architecture.get_text_config(decoder=True).hidden_size)
    return models * chat.sight.count_kept_features() * width


def estimate_longest_prompt(config: TrainConfig) -> int:
    """Return the length in tokens of the longest prompt in random matches of the games. Uses the tokens per
    pass for small models without a tokenizer and for games that cannot be played at random."""
    games = [game for game in map(load_game, config.games) if game.spec.plays_at_random]
    if (chat := _load_chat(config)) is None or not games:
        return config.optimizer.tokens_per_pass
    prompting, form = config.prompting, find_reply_form(config.prompting.reply)
    plays = (
        RandomPlay(
            game,
            prompting.style,
            form,
            seed=config.seed,
            tag="memory",
            context=prompting.context,
            pictures=prompting.pictures,
            keep="all",
        )
        for game in games
    )
    return max(len(encode_prompt(lesson, chat)) for play in plays for lesson in play.lot(LESSONS))


def return_large_blocks() -> None:
    """Make glibc return the memory of large tensors to the system as soon as they are freed.

    By default, glibc raises its threshold to the sizes freed, up to 32 MiB, and takes smaller blocks from a heap that
    fragments. With checkpointing, the peak of an update was twice the size of its tensors. This costs about 4% of
    time. Other C libraries are unaffected."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_M_MMAP_THRESHOLD, OWN_MAPPING)
