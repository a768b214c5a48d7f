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
from gymposium_train.objective.terms import importance, k2, k3, k3_straight_through, value_loss


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
        """Whether ratios are taken against the learner's own log-probabilities instead of the engine's."""
        return self.mismatch.mode == "decoupled"

    @property
    def needs_old(self) -> bool:
        """Whether the learner computes the log-probabilities of the policy before the update: `decoupled` takes ratios
        against them, and `k1` charges them in the rewards."""
        return self.decoupled or (self.needs_reference and self.kl.estimator == "k1")

    def proximal(self, flat: Flat) -> Tensor:
        """[M]: the log-probabilities that the policy's ratios are taken against (the proximal policy of Hilton et al.,
        2021, arXiv 2110.00641): the engine's in `bypass`, in `decoupled` the learner's from before the update."""
        if not self.decoupled:
            return flat.engine
        assert flat.old is not None
        return flat.old

    def policy(self, flat: Flat, logprobs: Tensor, kl_weight: float, metrics: Metrics) -> Tensor:
        """The policy's loss and its KL term; `logprobs` [M] are those of the policy that learns."""
        settings, old, correction = self.objective, self.proximal(flat), self._correction(flat)
        low, high = settings.clip_low, settings.clip_high
        match settings.kind:
            case "ppo":
                loss = ppo_clip(logprobs, old, flat.advantages, low, high)
            case "gspo":
                loss = gspo(logprobs, old, flat.advantages, flat.turn, low, high)
            case "cispo":
                loss = cispo(logprobs, old, flat.advantages, low, high)
            case _:
                loss = policy_gradient(logprobs, old, flat.advantages, 1.0 + high)
        total = (loss * correction * flat.weights).sum()
        share = float(flat.weights.sum())
        metrics.add("train/policy_loss", total.item(), share)
        with torch.no_grad():
            turn = flat.turn if settings.kind == "gspo" else None
            moved = approx_kl(logprobs, old), clipped(logprobs, old, low, high, turn)
            for name, values in zip(("train/approx_kl", "train/clipfrac"), moved, strict=True):
                metrics.add(name, float((values * flat.weights).sum()), share)
        if flat.reference is None:
            return total
        weights = importance(logprobs, old) * correction * flat.weights
        with torch.no_grad():
            metrics.add("train/kl", float((k3(logprobs, flat.reference) * weights).sum()), share)
        if self.kl.estimator == "k1":  # it came off the rewards
            return total
        estimate = k2 if self.kl.estimator == "k2" else k3_straight_through
        return total + kl_weight * (estimate(logprobs, flat.reference) * weights).sum()

    def value(self, flat: Flat, values: Tensor, turns: int, metrics: Metrics) -> Tensor:
        """The critic's loss: the mean over `turns`, those of all rows. `values` [T] are the critic's."""
        assert self.critic is not None
        error = value_loss(values, flat.targets, flat.values, self.critic.clip)
        loss = error.sum() / self.critic.scale**2 / turns
        metrics.add("train/value_loss", loss.item(), len(values) / turns)
        return self.critic.weight * loss

    def _correction(self, flat: Flat) -> Tensor:
        """[M]: the weight of each token for the difference between the engine that sampled it and the policy that
        ratios are taken against: 1 in `bypass`, where the two are the same."""
        if not self.decoupled:
            return torch.ones_like(flat.engine)
        old, cap, turns = self.proximal(flat), self.mismatch.cap, self.mismatch.turns
        if self.mismatch.correction == "truncate":
            weights = truncated(old, flat.engine, cap)
        else:
            weights = masked(old, flat.engine, 1.0 / cap, cap)
        if turns is None:
            return weights
        return weights * masked_turns(old, flat.engine, flat.turn, 1.0 / turns, turns)
