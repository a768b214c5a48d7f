"""A plugin that the host found, whether it could be loaded or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gymposium.plugins.hookspecs import HOOKS
from gymposium.plugins.specs import FormSpec, Spec


@dataclass(eq=False)
class Plugin:
    """A plugin that was found, with its status and its specs."""

    name: str
    source: str
    """The entry point or the file of the plugin."""
    distribution: str = ""
    version: str = ""
    status: Literal["active", "disabled", "broken"] = "active"
    error: str = ""
    """Why the plugin is broken; empty if it is not."""
    specs: list[Spec] = field(default_factory=list)

    def adds(self) -> dict[str, list[str]]:
        """The names that the plugin adds, by kind; players and rewards by the form in which they are written."""
        return {
            f"{kind.kind}s": [
                spec.form if isinstance(spec, FormSpec) else spec.name for spec in self.specs if isinstance(spec, kind)
            ]
            for kind in HOOKS.values()
        }
