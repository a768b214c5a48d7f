"""Estimates of memory: the peak that `gymposium train --dry-run --memory` computes with, and that of an update.

Six configurations of a model of 40 million parameters. Each figure comes from a separate process: the second of two
updates of two micro-batches, at its highest above what was there before the model was (Linux only).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.report import about, table
from benchmarks.training_speed.long import RATE, SIZE, VOCABULARY, apart, model
from benchmarks.training_speed.memory import status
from benchmarks.training_speed.scale import Scale
from gymposium.util.streams import stream
from gymposium_agents.lora.attach import attach_lora
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.memory import estimate_learner_memory
from gymposium_train.learner.rows import Row, Span
from gymposium_train.run.memory import return_large_blocks

WIDER = SIZE | {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 8, "num_attention_heads": 8}
REPLY = 64
"""Number of sampled tokens of a row."""
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "all weights, packed": {"layout": "packed", "token_budget": 4_096},
    "all weights, packed, checkpointing": {"layout": "packed", "token_budget": 8_192, "checkpointing": True},
    "all weights, padded, bfloat16": {"layout": "padded", "token_budget": 4_096, "precision": "bf16"},
    "LoRA, shared": {"layout": "shared", "token_budget": 4_096, "lora": True},
    "LoRA, packed, bfloat16, checkpointing": {
        "layout": "packed",
        "token_budget": 8_192,
        "checkpointing": True,
        "precision": "bf16",
        "lora": True,
    },
    "LoRA, packed, a vocabulary of 150k": {
        "layout": "packed",
        "token_budget": 4_096,
        "lora": True,
        "vocabulary": 150_000,
    },
}
"""Configurations whose estimates are compared: settings of the optimizer, and of the model."""


def measure(scale: Scale) -> tuple[dict[str, Any], str]:
    chosen = dict([*CONFIGURATIONS.items()][:1]) if scale.tiny else CONFIGURATIONS
    data = {
        "about": about("gymposium", "gymposium-train", "torch", "transformers", "peft"),
        "configurations": {name: _estimated({**how, "tiny": scale.tiny}) for name, how in chosen.items()},
    }
    return data, text(data)


def settled(how: dict[str, Any]) -> tuple[Optimizer, Callable[[], Any], int, int]:
    """Return a configuration: the optimizer's settings, the model, its vocabulary, and the number of tokens of a
    prompt."""
    how = dict(how)
    vocabulary, lora = how.pop("vocabulary", VOCABULARY), how.pop("lora", False)
    size = SIZE if how.pop("tiny") else WIDER
    settings = Optimizer(epochs=1, minibatches=1, **how)
    dtype = torch.bfloat16 if settings.precision == "bf16" else torch.float32

    def make() -> Any:
        made = model(vocabulary, size, tied=True).to(dtype)
        return attach_lora(made, rank=32, alpha=64, seed=0).to(dtype) if lora else made

    return settings, make, vocabulary, settings.tokens_per_pass // 8 - REPLY


def estimate(how: dict[str, Any]) -> float:
    """MiB of an update at its peak, as estimated."""
    settings, make, _, prompt = settled(how)
    return estimate_learner_memory(make, settings, prompt=prompt, reply=REPLY).total / 2**20


def found(how: dict[str, Any]) -> float:
    """MiB of the second of two updates of two micro-batches at its peak, above what was there before the model was."""
    return_large_blocks()
    settings, make, vocabulary, prompt = settled(how)
    rng, given = stream(0, "estimates"), []
    for n in range(16):
        span = Span(prompt, prompt + REPLY, (-5.0,) * REPLY, advantage=(-1.0) ** n, weight=1.0 / (16 * REPLY))
        given.append(Row(tuple(rng.choices(range(2, vocabulary), k=prompt + REPLY)), (span,)))
    before = status("VmRSS")
    learner = LocalLearner(make(), 0, settings)
    for _ in range(2):
        learner.update(given, learning_rate=RATE)
    return status("VmHWM") - before


def _estimated(how: dict[str, Any]) -> dict[str, float]:
    guess, measured = apart(estimate, how), apart(found, how)
    return {"estimated": guess, "measured": measured, "ratio": guess / measured}


def text(data: dict[str, Any]) -> str:
    lines = [
        [name, f"{one['estimated']:,.0f}", f"{one['measured']:,.0f}", f"{one['ratio']:.2f}"]
        for name, one in data["configurations"].items()
    ]
    return table(["configuration", "estimated peak, MiB", "measured", "ratio"], lines)
