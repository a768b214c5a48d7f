"""The specs in this distribution: the command `serve-affinetes`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, hookimpl


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="serve-affinetes",
        summary="Answer affinetes' calls over HTTP.",
        entry_point="gymposium_affinetes.cli:command",
        order=26,
    )
