"""The plugin that registers the commands `plugins check` and `audit-env`."""

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
    yield CommandSpec(
        name="audit-env",
        summary="Look for rewards that take no understanding of a game.",
        entry_point="gymposium_testing.audit_cli:audit_environment",
    )
