"""The plugin of this distribution, which adds the command `view`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, hookimpl


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="view",
        summary="Show recorded matches in a browser, or write them as pages.",
        entry_point="gymposium_viewer.cli:command",
        order=9,
    )
