"""Policy losses from plugins, and the policy loss chosen by a config."""

from __future__ import annotations

from gymposium.plugins.host import host
from gymposium_train.objective.protocol import Objective, ObjectiveSettings
from gymposium_train.util.variants import Variants, make_kind_finder, make_variant

OBJECTIVES = Variants(
    "objective", ObjectiveSettings, make_kind_finder(lambda: host().objectives, ObjectiveSettings), default="ppo"
)
"""The table `[objective]` of a config."""


def make_objective(settings: ObjectiveSettings) -> Objective:
    """Make the objective of these settings. Raises `UnknownName` if its plugin is not loaded."""
    objective: Objective = make_variant("objective", host().objectives, settings.kind, settings)
    return objective
