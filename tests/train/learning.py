"""A small model with its learner, for tests of code around them. It is made quickly, and every step changes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner

Pairs = Sequence[tuple[tuple[int, ...], tuple[int, ...]]]

RANK = 4


def learning(
    directory: Path, tune: Literal["lora", "full"] = "lora", load: Literal["4bit"] | None = None
) -> tuple[LoadedModel, LocalLearner]:
    """The model in `directory`, with a new LoRA unless all weights are trained, and its learner."""
    loaded = load_model(directory, load=load)
    if tune == "lora":
        loaded = LoadedModel(attach_lora(loaded.model, rank=RANK, alpha=8, seed=0), loaded.chat)
    return loaded, LocalLearner(loaded.model.train(), loaded.pad, Optimizer())


def make_pairs(loaded: LoadedModel) -> Pairs:
    """A few prompts and replies."""
    chat = loaded.chat
    return [(chat.prompt(text), chat.reply(reply)) for text in ("a", "b c") for reply in ("b2", "pass")]


def learn(learner: LocalLearner, loaded: LoadedModel, steps: int = 1) -> dict[str, Any]:
    """Imitate one of the replies, which changes all probabilities."""
    metrics: dict[str, Any] = {}
    for _ in range(steps):
        metrics = learner.imitate(make_pairs(loaded)[:1], 1e-2)
    return metrics
