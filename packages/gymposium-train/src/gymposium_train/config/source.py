"""Settings of the source of the trajectories that are learned from."""

from __future__ import annotations

from typing import Literal

from gymposium.plugins.host import host
from gymposium_train.util.settings import Settings
from gymposium_train.util.variants import Variants, from_plugins


class SourceSettings(Settings):
    """Base class of the settings of a source."""

    kind: str
    """Where trajectories come from."""


class MatchSettings(SourceSettings):
    """Matches of the games, which the run plays itself. The tables `rollout`, `stages` and `pool` say which."""

    kind: Literal["matches"] = "matches"
    """Where trajectories come from."""


SOURCES = Variants("source", SourceSettings, from_plugins(lambda: host().sources, SourceSettings), default="matches")
"""The table `[source]` of a config."""
