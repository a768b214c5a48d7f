"""The surroundings of a worker: what must be equal on all nodes for matches to be equal."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

from gymposium.allowed import VARIABLE, VARIABLES
from gymposium.plugins.host import ONLY, STRICT, WITHOUT, host
from gymposium.records.record import versions

SWITCHES = (VARIABLE, VARIABLES, ONLY, WITHOUT, STRICT)
"""Environment variables that a worker gets from the process that plays."""


@dataclass(frozen=True, slots=True)
class OneFilePlugin:
    """A one-file plugin as it travels to other nodes."""

    name: str
    content: bytes

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read the file of a plugin."""
        return cls(file.name, file.read_bytes())


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker on another node needs before it plays."""

    plugins: tuple[OneFilePlugin, ...]
    switches: dict[str, str]
    """The environment variables by which the user allows names and chooses plugins."""

    @classmethod
    def here(cls, plugins: Sequence[Path]) -> Self:
        """The setup of this process with these one-file plugins."""
        return cls(
            tuple(map(OneFilePlugin.read, plugins)), {name: os.environ[name] for name in SWITCHES if name in os.environ}
        )

    def apply(self) -> None:
        """Set this process up. Files of plugins are written to a folder that only this user can read."""
        for name in SWITCHES:
            os.environ.pop(name, None)
        os.environ.update(self.switches)
        folder = Path(tempfile.mkdtemp(prefix="gymposium-plugins-"))
        here = {file.name: file for file in host().files}  # on the user's own machine, those of the user's file
        for plugin in self.plugins:
            if plugin.name in here and here[plugin.name].read_bytes() == plugin.content:
                continue
            file = folder / plugin.name
            file.write_bytes(plugin.content)
            host().load_file(file)


def surroundings() -> dict[str, str]:
    """Versions of Python, of what records name and of all plugins that work, and the digests of one-file plugins, by
    name."""
    found = {"python": platform.python_version(), **versions()}
    for plugin in host().plugins:
        if plugin.status != "active":
            continue
        if plugin.source.endswith(".py"):
            found[Path(plugin.source).name] = sha256(Path(plugin.source).read_bytes()).hexdigest()[:16]
        elif plugin.distribution:
            found[plugin.distribution] = plugin.version or "unknown"
    return found


def difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """The differences of another node from this process, as what it has; None if there is none."""
    found = []
    for name in sorted(here.keys() | there.keys()):
        if name not in there:
            found.append(f"no {name} ({here[name]} here)")
        elif name not in here:
            found.append(f"{name} {there[name]}, which is not here")
        elif here[name] != there[name]:
            found.append(f"{name} {there[name]} ({here[name]} here)")
    return ", ".join(found) or None
