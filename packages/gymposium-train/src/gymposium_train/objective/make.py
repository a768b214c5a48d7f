"""The policy losses that plugins offer, and the one that a config chooses."""

from __future__ import annotations

from gymposium.plugins.host import host
from gymposium_train.objective.protocol import Objective, ObjectiveSettings
from gymposium_train.util.variants import Variants, from_plugins, make_variant

OBJECTIVES = Variants(
    "objective", ObjectiveSettings, from_plugins(lambda: host().objectives, ObjectiveSettings), default="ppo"
)
"""The table `[objective]` of a config."""


def make_objective(settings: ObjectiveSettings) -> Objective:
    """The objective of these settings. Raises `UnknownName` if its plugin is not loaded."""
    objective: Objective = make_variant("objective", host().objectives, settings.kind, settings)
    return objective
