"""What changes over the steps of a run. All of it follows from the step alone, so a resumed run needs no state."""

from __future__ import annotations

from gymposium_train.config.learn import Optimizer
from gymposium_train.config.whole import TrainConfig


def progress(config: TrainConfig, step: int) -> float:
    """How far step 0 … steps - 1 is, from 0 to 1."""
    return step / max(1, config.steps - 1)


def group_size(config: TrainConfig, step: int) -> int:
    """Matches in a group of this step."""
    first, last = config.rollout.group_size, config.rollout.final_group_size
    growth: float = 1.0 if last is None else (last / first) ** progress(config, step)
    return round(first * growth)


def entropy_weight(config: TrainConfig, step: int) -> float:
    """Weight of the entropy bonus in this step."""
    first, last = config.entropy.weight, config.entropy.final
    return first if last is None else first + (last - first) * progress(config, step)


def learning_rate(config: TrainConfig, step: int) -> float:
    """The learning rate of this step: a linear rise, then a linear fall."""
    settings: Optimizer = config.optimizer
    rise = min(1.0, (step + 1) / max(1, settings.warmup_steps))
    return settings.learning_rate * rise * (1.0 - (1.0 - settings.final_rate) * progress(config, step))
