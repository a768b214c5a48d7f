"""Schedules: values that change over the steps of a run. They depend on the step alone, so a resumed run needs no state
for them."""

from __future__ import annotations

from gymposium_train.config.root import TrainConfig


def progress(config: TrainConfig, step: int) -> float:
    """The progress of a run at this step, from 0 at the first to 1 at the last. Steps are counted from 0."""
    return step / max(1, config.steps - 1)


def group_size(config: TrainConfig, step: int) -> int:
    """Number of matches in a group of this step."""
    growth: float = config.rollout.growth ** progress(config, step)
    return round(config.rollout.group_size * growth)


def entropy_weight(config: TrainConfig, step: int) -> float:
    """Weight of the entropy bonus in this step, in nats a token."""
    return config.entropy.weight * (1.0 - (1.0 - config.entropy.final_share) * progress(config, step))


def kl_weight(config: TrainConfig, step: int) -> float:
    """Weight of the KL penalty in this step; 0 without a penalty."""
    if config.kl is None:
        return 0.0
    return config.kl.weight * (1.0 - (1.0 - config.kl.final_share) * progress(config, step))


def learning_rate(config: TrainConfig, step: int) -> float:
    """The learning rate of this step: a linear rise, then a linear fall."""
    settings = config.optimizer
    rise = min(1.0, (step + 1) / max(1, settings.warmup_steps))
    return settings.learning_rate * rise * (1.0 - (1.0 - settings.final_rate) * progress(config, step))
