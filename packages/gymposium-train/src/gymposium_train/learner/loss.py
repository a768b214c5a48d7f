"""The loss of a micro-batch: the policy's objective, and the terms beside it, on flat tensors.

Each token has a weight that was worked out for the whole optimizer step, so sums over micro-batches add up to the same
loss however a step is cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gymposium_train.config import Critic, Kl, Mismatch, Objective, TrainConfig
from gymposium_train.learner.flat import Flat
from gymposium_train.learner.metrics import Metrics
from gymposium_train.objective.diagnostics import approx_kl, clipped
from gymposium_train.objective.mismatch import masked, masked_turns, truncated
from gymposium_train.objective.policy import cispo, gspo, policy_gradient, ppo_clip
from gymposium_train.objective.terms import k2, k3, k3_straight_through, value_loss


@dataclass(frozen=True, slots=True)
class Loss:
    """What a batch is learned by."""

    objective: Objective = field(default_factory=Objective)
    kl: Kl = field(default_factory=Kl)
    critic: Critic | None = None
    mismatch: Mismatch = field(default_factory=Mismatch)
    temperature: float = 1.0
    """At which the tokens were sampled."""

    @classmethod
    def of(cls, config: TrainConfig) -> Loss:
        """As a run's settings say; with a critic where credit needs one."""
        critic = config.critic if config.credit.kind == "gae" else None
        return cls(config.objective, config.kl, critic, config.mismatch, config.asking.temperature)

    @property
    def needs_reference(self) -> bool:
        return self.kl.weight > 0.0

    @property
    def decoupled(self) -> bool:
        """Whether the old log-probabilities are computed again instead of being the engine's."""
        return self.mismatch.mode == "decoupled"

    @property
    def needs_old(self) -> bool:
        """Whether the policy before the update is to be asked for its log-probabilities."""
        return self.decoupled or (self.needs_reference and self.kl.estimator == "k1")

    def policy(self, flat: Flat, logprobs: Tensor, kl_weight: float, metrics: Metrics) -> Tensor:
        """The policy's loss and its KL term; `logprobs` [M] are those of the policy that learns."""
        settings = self.objective
        low, high = settings.clip_low, settings.clip_high
        match settings.kind:
            case "ppo":
                loss = ppo_clip(logprobs, flat.old, flat.advantages, low, high)
            case "gspo":
                loss = gspo(logprobs, flat.old, flat.advantages, flat.turn, low, high)
            case "cispo":
                loss = cispo(logprobs, flat.old, flat.advantages, low, high)
            case _:
                loss = policy_gradient(logprobs, flat.old, flat.advantages, 1.0 + high)
        if self.decoupled:
            loss = loss * self._correction(flat)
        total = (loss * flat.weights).sum()
        share = float(flat.weights.sum())
        metrics.add("train/policy_loss", total.item(), share)
        with torch.no_grad():
            turn = flat.turn if settings.kind == "gspo" else None
            moved = approx_kl(logprobs, flat.old), clipped(logprobs, flat.old, low, high, turn)
            for name, values in zip(("train/approx_kl", "train/clipfrac"), moved, strict=True):
                metrics.add(name, float((values * flat.weights).sum()), share)
        if flat.reference is None:
            return total
        with torch.no_grad():
            metrics.add("train/kl", float((k3(logprobs, flat.reference) * flat.weights).sum()), share)
        if self.kl.estimator == "k1":  # it came off the rewards
            return total
        estimate = k2 if self.kl.estimator == "k2" else k3_straight_through
        return total + kl_weight * (estimate(logprobs, flat.reference) * flat.weights).sum()

    def value(self, flat: Flat, values: Tensor, turns: int, metrics: Metrics) -> Tensor:
        """The critic's loss: the mean over `turns`, those of all rows. `values` [T] are the critic's."""
        assert self.critic is not None
        error = value_loss(values, flat.targets, flat.values, self.critic.clip)
        loss = error.sum() / self.critic.scale**2 / turns
        metrics.add("train/value_loss", loss.item(), len(values) / turns)
        return self.critic.weight * loss

    def _correction(self, flat: Flat) -> Tensor:
        """What each token counts for, since it was sampled by an engine whose probabilities are not quite these."""
        cap, turns = self.mismatch.cap, self.mismatch.turns
        if self.mismatch.correction == "truncate":
            weights = truncated(flat.old, flat.engine, cap)
        else:
            weights = masked(flat.old, flat.engine, 1.0 / cap, cap)
        if turns is None:
            return weights
        return weights * masked_turns(flat.old, flat.engine, flat.turn, 1.0 / turns, turns)
