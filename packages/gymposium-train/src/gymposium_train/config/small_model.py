"""Settings that a run's small model needs for the run's games."""

from __future__ import annotations

from dataclasses import replace

from gymposium.games.registry import load_game
from gymposium_train.config.root import TrainConfig


def resolve_small_model(config: TrainConfig) -> TrainConfig:
    """Fill in omitted settings that the run's small model needs for its games: `model.small.prose` and, with tools,
    `prompting.context`. Unchanged if a model is named."""
    if config.model.name is not None:
        return config
    model, prompting, specs = config.model, config.prompting, [load_game(name).spec for name in config.games]
    if model.small.prose is None and any(spec.free_text for spec in specs):
        model = model.model_copy(update={"small": replace(model.small, prose=True)})
    if "context" not in prompting.model_fields_set and any(spec.tools for spec in specs):
        # after the first turn, a world shows only what the last tools returned
        prompting = prompting.model_copy(update={"context": "full"})
    return config.model_copy(update={"model": model, "prompting": prompting})
