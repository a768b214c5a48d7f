"""Every command with machine-readable output has `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gymposium.cli.commands import make_command
from gymposium.cli.plugins import command as plugins
from gymposium.plugins.host import host

FOR_PEOPLE = {"play"}
"""Commands that talk with a person."""
SERVERS = {"view", "serve-env", "serve-affinetes", "serve-mcp", "engine start"}
"""Commands that serve until they are stopped. The first line on stdout is the address, or the player that asks it."""


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The command and those below it, by their names."""
    below = getattr(command, "commands", {})
    if not below:
        yield " ".join(path), command
    for name, one in below.items():
        yield from commands(one, (*path, name))


def every_command() -> dict[str, Any]:
    implementations = {spec.name: host().implementation(spec) for spec in host().commands.values()}
    groups = {name: make_command(target, name) for name, target in (implementations | {"plugins": plugins}).items()}
    return {path: one for name, group in groups.items() for path, one in commands(group, (name,))}


def test_every_machine_readable_command_has_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = every_command()
    assert found.keys() >= FOR_PEOPLE | SERVERS
    for name, command in found.items():
        command.main(["--help"], prog_name=f"gymposium {name}", standalone_mode=False)
        has_json = "--json" in capsys.readouterr().out
        assert has_json == (name not in FOR_PEOPLE | SERVERS), name
