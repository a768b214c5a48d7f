"""The loss of a micro-batch: the policy's objective and additional terms, on flat tensors.

Token weights are computed for the whole optimizer step, so sums over micro-batches give the same loss for any division
of a step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gymposium_train.config import Bypass, DecoupledMismatch, Kl, Mismatch, TrainConfig
from gymposium_train.credit.make import make_credit
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner.metrics import Metrics
from gymposium_train.learner.token_batch import TokenBatch
from gymposium_train.objective.diagnostics import approx_kl
from gymposium_train.objective.make import make_objective
from gymposium_train.objective.mismatch import compute_mismatch_kl, mask_ratio, mask_turns, truncate_ratio
from gymposium_train.objective.ppo import Ppo, PpoSettings
from gymposium_train.objective.protocol import Objective, PolicyTokens
from gymposium_train.objective.terms import compute_importance, compute_value_loss, k2, k3, k3_straight_through


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a run: the policy's objective and additional terms."""

    objective: Objective = field(default_factory=lambda: Ppo(PpoSettings()))
    kl: Kl | None = None
    critic: Critic | None = None
    mismatch: Mismatch = field(default_factory=Bypass)
    temperature: float = 1.0
    """Sampling temperature of the tokens."""
    legality: float = 0.0
    """Weight of the policy's illegality. It counts at places in turns and demonstrations that name legal replies."""

    @classmethod
    def from_config(cls, config: TrainConfig) -> Loss:
        """Make the loss of a run's settings, with a critic if its credit needs one."""
        critic = make_credit(config.credit).critic
        return cls(
            objective=make_objective(config.objective),
            kl=config.kl if config.kl.weight > 0.0 else None,
            critic=critic,
            mismatch=config.mismatch,
            temperature=config.prompting.temperature,
            legality=config.legality_weight,
        )

    @property
    def needs_reference(self) -> bool:
        """True if the learner keeps a reference policy: for the KL penalty, or because the objective needs it."""
        return self.kl is not None or self.objective.needs_reference

    @property
    def needs_old(self) -> bool:
        """True if the learner computes log-probabilities of the policy before the update. `decoupled` uses them in
        ratios, `k1` subtracts them from the rewards, and the objective may need them."""
        k1 = self.kl is not None and self.kl.estimator == "k1"
        return isinstance(self.mismatch, DecoupledMismatch) or k1 or self.objective.needs_old

    def proximal(self, batch: TokenBatch) -> Tensor:
        """Return the log-probabilities used as the denominator of the policy's ratios: [M]. They are the engine's with
        `bypass`, and the learner's before the update with `decoupled`. This is the proximal policy of Hilton et al.
        (2021, arXiv 2110.00641)."""
        if not isinstance(self.mismatch, DecoupledMismatch):
            return batch.engine
        assert batch.old is not None
        return batch.old

    @torch.no_grad()
    def note_start(self, batch: TokenBatch, logprobs: Tensor, metrics: Metrics) -> None:
        """Record two differences of the learner's log-probabilities [M] before the first optimizer step: from the
        engine's, and from the ratios' denominators."""
        metrics.add("train/mismatch_kl", float(compute_mismatch_kl(logprobs, batch.engine).sum()), len(logprobs))
        if len(logprobs):
            metrics.peak("train/first_log_ratio", float((logprobs - self.proximal(batch)).abs().max()))

    def policy(self, batch: TokenBatch, logprobs: Tensor, kl_weight: float, metrics: Metrics) -> Tensor:
        """Return the policy's loss with its KL term. `logprobs` [M] are those of the learner's policy."""
        old, correction = self.proximal(batch), self.correction(batch)
        tokens = PolicyTokens(logprobs, old, batch.advantages, batch.turn, batch.old, batch.reference)
        total = (self.objective(tokens) * correction * batch.weights).sum()
        share = float(batch.weights.sum())
        metrics.add("train/policy_loss", total.item(), share)
        with torch.no_grad():
            shown = {"train/approx_kl": approx_kl(logprobs, old), "train/clipfrac": self.objective.clipped(tokens)}
            for name, values in shown.items():
                if values is not None:
                    metrics.add(name, float((values * batch.weights).sum()), share)
        if batch.reference is None:
            return total
        weights = compute_importance(logprobs, old) * correction * batch.weights
        with torch.no_grad():
            metrics.add("train/kl", float((k3(logprobs, batch.reference) * weights).sum()), share)
        if self.kl is None or self.kl.estimator == "k1":  # k1 is subtracted from the rewards
            return total
        estimate = k2 if self.kl.estimator == "k2" else k3_straight_through
        return total + kl_weight * (estimate(logprobs, batch.reference) * weights).sum()

    def value(self, batch: TokenBatch, values: Tensor, turns: int, metrics: Metrics) -> Tensor:
        """Return a micro-batch's part of the critic's loss, a mean over `turns` turns. `values` [T] are the
        critic's."""
        assert self.critic is not None
        error = compute_value_loss(values, batch.targets, batch.values, self.critic.clip)
        loss = error.sum() / self.critic.unit**2 / turns
        metrics.add("train/value_loss", loss.item(), len(values) / turns)
        return self.critic.weight * loss

    def correction(self, batch: TokenBatch) -> Tensor:
        """Return the weights that correct for the difference between the sampling engine and the policy in the ratios'
        denominators: [M]. With `bypass`, the two policies are the same and the weights are 1."""
        if not isinstance(self.mismatch, DecoupledMismatch):
            return torch.ones_like(batch.engine)
        old, cap, turns = self.proximal(batch), self.mismatch.cap, self.mismatch.turns
        if self.mismatch.correction == "truncate":
            weights = truncate_ratio(old, batch.engine, cap)
        else:
            weights = mask_ratio(old, batch.engine, 1.0 / cap, cap)
        if turns is not None:
            weights = weights * mask_turns(old, batch.engine, batch.turn, 1.0 / turns, turns)
        return weights
