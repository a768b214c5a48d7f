"""Policy losses from plugins, and the policy loss chosen by a config."""

from __future__ import annotations

from gymposium.plugins.host import host
from gymposium_train.objective.protocol import Objective, ObjectiveSettings
from gymposium_train.util.variants import Variants, from_plugins, make_variant

OBJECTIVES = Variants(
    "objective", ObjectiveSettings, from_plugins(lambda: host().objectives, ObjectiveSettings), default="ppo"
)
"""The table `[objective]` of a config."""


def make_objective(settings: ObjectiveSettings) -> Objective:
    """Make the objective of these settings. Raises `UnknownName` if its plugin is not loaded."""
    objective: Objective = make_variant("objective", host().objectives, settings.kind, settings)
    return objective
