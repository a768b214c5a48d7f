"""Schedules: values that change with the progress of a run, from 0 at its first step to 1 at its last."""

from __future__ import annotations

import math

from gymposium_train.config.root import TrainConfig


class RunProgress:
    """The progress of reinforcement learning. If the config sets a number of steps, the progress depends only on the
    step. Otherwise it is the share of the budget used before the step."""

    def __init__(self, config: TrainConfig, used: float = 0.0) -> None:
        """`used` is the number of CPU seconds of the budget used before the first step."""
        self.steps = config.steps
        """The number of steps, or None for a run with a budget."""
        self.budget = config.budget
        """The budget in CPU seconds."""
        self.used = self.begin = used
        self.between = 0.0
        """CPU seconds used between steps since the run began or was resumed."""
        self._last = 0.0

    @property
    def trained(self) -> float:
        """CPU seconds used since the first step."""
        return self.used - self.begin

    @property
    def work(self) -> int:
        """The length of the progress bar: the number of steps, or the CPU seconds that the budget leaves for them. At
        least 1, because a run takes a step even after a slow cold start."""
        return self.steps if self.steps is not None else max(1, round(self.budget - self.begin))

    def count_done(self, steps: int) -> int:
        """Return how much of `work` is done after this number of steps."""
        return steps if self.steps is not None else min(round(self.trained), self.work)

    def step(self, seconds: float) -> None:
        """Note the CPU seconds of a step."""
        self._last = seconds
        self.used += seconds

    def spend(self, seconds: float) -> None:
        """Note CPU seconds used between two steps."""
        self.between += seconds
        self.used += seconds

    def __call__(self, step: int) -> float:
        """Return the progress at this step, counted from 0."""
        if self.steps is not None:
            return step / max(1, self.steps - 1)
        return min(1.0, max(0.0, self.trained) / max(1e-9, self.budget - self.begin))

    def is_over(self, done: int) -> bool:
        """Return True if the run ends after `done` steps. A run with a budget ends after the step closest to the
        budget, assuming that the next step takes as long as the last. It takes at least one step."""
        if self.steps is not None:
            return done >= self.steps
        return done > 0 and self.used + self._last / 2.0 >= self.budget


def compute_growth(config: TrainConfig, progress: float) -> float:
    """Return the growth factor of steps since the first."""
    ratio: float = config.rollout.growth**progress
    return ratio


def compute_entropy_weight(config: TrainConfig, progress: float) -> float:
    """Return the weight of the entropy bonus, in nats per token."""
    return config.entropy.weight * (1.0 - (1.0 - config.entropy.final_share) * progress)


def compute_distillation_weight(config: TrainConfig, progress: float) -> float:
    """Return the weight of distillation, in nats per token. 0 without a teacher."""
    return config.distillation_weight * (1.0 - (1.0 - config.distillation.final_share) * progress)


def compute_kl_weight(config: TrainConfig, progress: float) -> float:
    """Return the weight of the KL penalty, or 0 without a penalty."""
    return config.kl.weight * (1.0 - (1.0 - config.kl.final_share) * progress)


def compute_learning_rate(config: TrainConfig, progress: float, step: int) -> float:
    """Return the learning rate of this step, counted from 0: a linear rise over the first steps, times the decay of
    the schedule."""
    settings = config.optimizer
    rise = min(1.0, (step + 1) / max(1, settings.warmup_steps))
    fallen = {"linear": progress, "cosine": 0.5 - 0.5 * math.cos(math.pi * progress), "constant": 0.0}
    return settings.learning_rate * rise * (1.0 - (1.0 - settings.final_rate) * fallen[settings.schedule])
