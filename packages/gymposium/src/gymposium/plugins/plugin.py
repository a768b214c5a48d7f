"""A plugin found by the host, loaded or broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gymposium.plugins.hookspecs import HOOKS
from gymposium.plugins.specs import FormSpec, Spec


@dataclass(eq=False)
class Plugin:
    """A plugin found by the host, with its status and specs."""

    name: str
    source: str
    """The plugin's entry point or file."""
    distribution: str = ""
    version: str = ""
    status: Literal["active", "disabled", "broken"] = "active"
    error: str = ""
    """Why the plugin is broken; empty if it works."""
    specs: list[Spec] = field(default_factory=list)

    def adds(self) -> dict[str, list[str]]:
        """Return the names that the plugin adds, by kind. Players and rewards are listed by form."""
        return {
            f"{kind.kind}s": [
                spec.form if isinstance(spec, FormSpec) else spec.name for spec in self.specs if isinstance(spec, kind)
            ]
            for kind in HOOKS.values()
        }
