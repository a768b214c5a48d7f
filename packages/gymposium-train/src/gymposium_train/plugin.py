"""The plugin of gymposium-train: the `train` command, and the engine that shares the learner's model."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import CommandSpec, EngineSpec


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="train",
        summary="Train a language model to play games: cold start, GRPO or PPO, measures, report.",
        entry_point="gymposium_train.cli:command",
        order=19,
    )


@hookimpl
def gymposium_engines() -> Iterable[EngineSpec]:
    yield EngineSpec(
        name="shared",
        summary="The learner's own model in memory; in training runs of one process only.",
        entry_point="gymposium_train.publishing.shared:shared_engine",
        shares_learner=True,
        all_weights=True,
    )
