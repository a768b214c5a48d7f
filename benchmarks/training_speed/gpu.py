"""Rollout and update at half a billion parameters on a GPU: tokens per second, parts of a step, memory; by the clock.

The model has Qwen's shape, random weights in bfloat16, and a LoRA; its tokenizer has a token a character. It plays
tic-tac-toe against random players; a reply that is no move is replaced by a random one, so matches have all of their
turns, each of as many tokens as may be.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import Qwen3ForCausalLM

from benchmarks.engines import gpu as engines
from benchmarks.report import about, table
from benchmarks.training_speed.models import TINY, architecture, make_characters
from benchmarks.training_speed.scale import Scale, shown, spread
from benchmarks.training_speed.work import ours
from gymposium_agents.chat import Chat
from gymposium_agents.loading import LoadedModel
from gymposium_agents.lora.attach import attach_lora
from gymposium_train.config import TrainConfig

T = TypeVar("T")

PARTS = ("play", "learn", "publish")


def config_for(context: str, scale: Scale) -> TrainConfig:
    return TrainConfig.model_validate(
        {
            "games": ("tic_tac_toe",),
            "steps": 1000,
            "legality": {"weight": 0.0},
            "prompting": {"context": context, "max_tokens": 4 if scale.tiny else 32, "on_illegal": "random"},
            "rollout": {"groups": 2 if scale.tiny else 8, "group_size": 2 if scale.tiny else 32, "growth": 1.0},
            "optimizer": {"learning_rate": 1e-6, "epochs": 1, "minibatches": 1, "token_budget": 32_768},
        }
    )


def measure(scale: Scale) -> tuple[dict[str, Any], str]:
    contexts = {context: _context(context, scale) for context in ("state", "full")}
    data = {
        "about": about("gymposium", "gymposium-agents", "gymposium-train", "torch", "transformers", "peft"),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "contexts": contexts,
    }
    return data, text(data)


def clock() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def make(scale: Scale) -> LoadedModel:
    tokenizer = make_characters()
    base: Any = Qwen3ForCausalLM(architecture(len(tokenizer), TINY)) if scale.tiny else engines.make()
    tokenizer.name_or_path = "characters"
    return LoadedModel(attach_lora(base, rank=32, alpha=64, seed=0), Chat(tokenizer))


def _context(context: str, scale: Scale) -> dict[str, Any]:
    config = config_for(context, scale)
    loaded = make(scale)
    seconds: dict[str, list[float]] = {part: [] for part in PARTS}
    memory: dict[str, list[float]] = {part: [] for part in PARTS}
    sampled, learned, turns = [], [], []
    with tempfile.TemporaryDirectory() as temporary, ours(config, loaded, Path(temporary)) as mine:
        for number in range(scale.repeats + 1):
            training = mine.training
            rollout, *play = _timed(partial(training.play, number))
            _, *learn = _timed(partial(training.learn, number, rollout))
            _, *publish = _timed(training.trainee.publish)
            if number == 0:  # it warms up
                continue
            for part, (spent, peak) in zip(PARTS, (play, learn, publish), strict=True):
                seconds[part].append(spent)
                memory[part].append(peak)
            said = [turn.trace.completion.ids for g in rollout.groups for t in g.trajectories for turn in t.turns]
            sampled.append(sum(map(len, said)) / play[0])
            learned.append(sum(len(row.ids) for row in mine.learner.rows) / learn[0])
            turns.append(len(said))
    return {
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "turns": turns,
        "sampled_tokens_per_second": spread(sampled, 0),
        "learned_tokens_per_second": spread(learned, 0),
        "seconds": {part: spread(seconds[part]) for part in PARTS},
        "peak_gib": {part: round(max(memory[part]), 2) for part in PARTS},
    }


def _timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """What it gives, the seconds that it takes, and the most memory of the GPU in between, in GiB."""
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    begun = clock()
    found = work()
    return found, clock() - begun, torch.cuda.max_memory_allocated() / 2**30 if gpu else 0.0


def text(data: dict[str, Any]) -> str:
    head = ["", "sampled tokens per second", "learned tokens per second, prompts counted"]
    head += [f"{part}, seconds" for part in PARTS] + [f"{part}, peak GiB" for part in PARTS]
    lines = [
        [
            context,
            shown(found["sampled_tokens_per_second"], ",.0f"),
            shown(found["learned_tokens_per_second"], ",.0f"),
            *(shown(found["seconds"][part]) for part in PARTS),
            *(f"{found['peak_gib'][part]:.1f}" for part in PARTS),
        ]
        for context, found in data["contexts"].items()
    ]
    found = data["contexts"]["state"]
    return table(head, lines) + (
        f"\n{data['device']}; {found['parameters'] / 1e9:.2f} billion parameters with a LoRA of rank 32, bfloat16; "
        f"{max(found['turns'])} turns a step.\n"
    )
