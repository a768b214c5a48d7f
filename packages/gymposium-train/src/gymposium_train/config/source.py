"""Settings of the source of trajectories."""

from __future__ import annotations

from typing import Literal

from gymposium.plugins.host import host
from gymposium_train.util.settings import Settings
from gymposium_train.util.variants import Variants, make_kind_finder


class SourceSettings(Settings):
    """Base class of the settings of a source."""

    kind: str
    """Where trajectories come from."""


class MatchSettings(SourceSettings):
    """Matches played by the run. See the tables `rollout`, `stages` and `pool`."""

    kind: Literal["matches"] = "matches"
    """Where trajectories come from."""


SOURCES = Variants(
    "source", SourceSettings, make_kind_finder(lambda: host().sources, SourceSettings), default="matches"
)
"""The table `[source]` of a config."""
