"""Register the commands `leaderboard` and `audit`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, hookimpl


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="audit",
        summary="Replay other libraries' logs, report mismatches, and rate their agents.",
        entry_point="gymposium_arena.cli.audit:command",
        order=8,
    )
    yield CommandSpec(
        name="leaderboard",
        summary="Play tournaments between players, rate them and publish the board.",
        entry_point="gymposium_arena.cli.leaderboard:command",
        order=11,
    )
