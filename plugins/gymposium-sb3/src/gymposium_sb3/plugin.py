"""The plugin gymposium-sb3: the player `sb3:FILE.zip` and the command `gymposium sb3`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, OpponentSpec, hookimpl


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="sb3",
        form="sb3:FILE.zip",
        pattern=r"sb3:(?P<path>.+)",
        summary="A policy saved by stable-baselines3 (PPO, MaskablePPO, A2C); its likeliest legal move.",
        entry_point="gymposium_sb3.player:Sb3Player",
        opens="a file",
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="sb3",
        summary="Train stable-baselines3's PPO or MaskablePPO on a game's tensor.",
        entry_point="gymposium_sb3.cli:command",
        order=21,
    )
