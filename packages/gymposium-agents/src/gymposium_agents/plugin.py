"""What gymposium-agents adds: the language-model player and the `eval` command."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import CommandSpec, OpponentSpec


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="lm",
        form="lm:MODEL or lm:MODEL@ADAPTER",
        pattern=r"lm:(?P<model>[^@]+)(?:@(?P<adapter>.+))?",
        summary="A language model (a directory or hub name), with or without a LoRA adapter; greedy.",
        entry_point="gymposium_agents.loading:language_model_player",
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="eval",
        summary="Evaluate a player against others, seats swapped, with 95 % intervals.",
        entry_point="gymposium_agents.cli.eval:command",
        order=20,
    )
