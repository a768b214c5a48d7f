"""Setup of processes on other nodes, and the versions that must agree for equal matches."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from os.path import realpath
from pathlib import Path
from typing import Self

from gymposium.plugins.allowed import VARIABLE, VARIABLES
from gymposium.plugins.host import ONLY, STRICT, WITHOUT, host, remake_host
from gymposium.records.record import get_versions

SWITCHES = (VARIABLE, VARIABLES, ONLY, WITHOUT, STRICT)
"""Environment variables passed to processes on other nodes."""


@dataclass(frozen=True, slots=True)
class OneFilePlugin:
    """A one-file plugin with its content, for other nodes."""

    path: Path
    """The absolute path of the plugin's file on the sending node."""
    content: bytes

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read the file of a plugin."""
        return cls(Path(realpath(file)), file.read_bytes())

    def is_at(self, path: Path) -> bool:
        """Return whether a local file has the plugin's content."""
        return path.is_file() and path.read_bytes() == self.content


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a process on another node, like that of a child process (`gymposium.util.child_process`)."""

    plugins: tuple[OneFilePlugin, ...]
    switches: dict[str, str]
    """The environment variables that allow names and choose plugins."""

    @classmethod
    def from_process(cls, plugins: Sequence[Path]) -> Self:
        """Return the setup of this process with these one-file plugins."""
        return cls(
            tuple(map(OneFilePlugin.read, plugins)), {name: os.environ[name] for name in SWITCHES if name in os.environ}
        )

    def apply(self) -> None:
        """Set up this process and its children. Missing plugin files are written to a private folder."""
        for name in SWITCHES:
            os.environ.pop(name, None)
        os.environ.update(self.switches)
        remake_host()  # importing gymposium made one by the node's own switches
        folder = None
        for plugin in self.plugins:
            if any(file.name == plugin.path.name and plugin.is_at(file) for file in host().files):
                continue
            file = plugin.path
            if not plugin.is_at(file):
                folder = folder or Path(tempfile.mkdtemp(prefix="gymposium-plugins-"))
                file = folder / plugin.path.name
                file.write_bytes(plugin.content)
            host().load_file(file)


def collect_versions() -> dict[str, str]:
    """Return the versions of Python, the libraries in records, and the active plugins, and one-file plugins' digests,
    by name."""
    found = {"python": platform.python_version(), **get_versions()}
    for plugin in host().plugins:
        if plugin.status != "active":
            continue
        if plugin.source.endswith(".py"):
            found[Path(plugin.source).name] = sha256(Path(plugin.source).read_bytes()).hexdigest()[:16]
        elif plugin.distribution:
            found[plugin.distribution] = plugin.version or "unknown"
    return found


def describe_difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Return how another node's versions differ, as a clause; None if they are equal."""
    found = []
    for name in sorted(here.keys() | there.keys()):
        if name not in there:
            found.append(f"no {name} ({here[name]} here)")
        elif name not in here:
            found.append(f"{name} {there[name]}, which is not here")
        elif here[name] != there[name]:
            found.append(f"{name} {there[name]} ({here[name]} here)")
    return ", ".join(found) or None
