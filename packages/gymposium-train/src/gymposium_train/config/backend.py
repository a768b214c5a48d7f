"""Settings of the backend that holds the learner's model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from gymposium.plugins.host import host
from gymposium_train.util.settings import Settings
from gymposium_train.util.variants import Variants, make_kind_finder


class BackendSettings(Settings):
    """Base class of the settings of a backend."""

    other_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Defaults in other tables that this backend changes, by dotted name."""

    kind: str
    """Where the model learns."""


class LocalSettings(BackendSettings):
    """The model learns on this machine with torch: in this process, or split over the processes started by torchrun."""

    kind: Literal["local"] = "local"
    """Where the model learns."""


BACKENDS = Variants(
    "backend", BackendSettings, make_kind_finder(lambda: host().backends, BackendSettings), default="local"
)
"""The table `[backend]` of a config."""
