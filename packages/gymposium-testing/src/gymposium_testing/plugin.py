"""The plugin that registers the command `plugins check`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, hookimpl


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="plugins check",
        summary="Check that plugins keep the promises of their specs.",
        entry_point="gymposium_testing.cli:check_plugins",
    )
