"""What gymposium-train adds: the `train` command."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import CommandSpec


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="train",
        summary="Train a language model to play games: cold start, GRPO or PPO, measures, report.",
        entry_point="gymposium_train.cli:command",
        order=19,
    )
