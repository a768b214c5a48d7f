"""Mapping of a run's loss to one of the service's losses.

The service sums token losses, so a token's weight is multiplied into its advantage. It supports the losses of pg, ppo
and cispo. Other losses, and the KL terms k2 and k3, are computed here from log-probabilities
(`forward_backward_custom`), which costs another forward pass.
"""

from __future__ import annotations

from typing import NamedTuple

from tinker.types import Datum, LossFnType

from gymposium_tinker.data import align_to_targets, make_datum
from gymposium_train.config import TrainConfig
from gymposium_train.learner.loss import Loss
from gymposium_train.learner.rows import Row
from gymposium_train.learner.token_batch import TokenBatch
from gymposium_train.objective.cispo import CispoSettings
from gymposium_train.objective.pg import PgSettings
from gymposium_train.objective.ppo import PpoSettings


class ServiceLoss(NamedTuple):
    """A loss that the service computes, and its settings."""

    name: LossFnType
    settings: dict[str, float | str]


def choose_service_loss(config: TrainConfig) -> ServiceLoss | None:
    """Return the service's loss that equals the config's loss, if any.

    The service's `importance_sampling` does not truncate ratios, as pg does, and its `ppo` has no `clip_dual`. This
    makes no difference if ratios are 1, as in a single optimizer step on the policy's own rollouts. Otherwise pg maps
    to cispo without a lower bound, and ppo needs `clip_dual = 0`."""
    objective = config.objective
    on_policy = config.optimizer.epochs * config.optimizer.minibatches == 1 and config.engine.staleness == 0
    if config.kl.weight > 0 and config.kl.estimator != "k1":
        return None
    if type(objective) is PgSettings:
        if on_policy:
            return ServiceLoss("importance_sampling", {})
        return ServiceLoss("cispo", {"clip_low_threshold": 0.0, "clip_high_threshold": objective.cap})
    if isinstance(objective, PpoSettings) and objective.clip_dual and not on_policy:
        return None
    names: dict[type, LossFnType] = {PpoSettings: "ppo", CispoSettings: "cispo"}
    if (name := names.get(type(objective))) is None:
        return None
    assert isinstance(objective, PpoSettings | CispoSettings), "they are in the table"
    low, high = 1.0 - objective.clip_low, 1.0 + objective.clip_high
    return ServiceLoss(name, {"clip_low_threshold": low, "clip_high_threshold": high})


def make_weighted_data(rows: list[Row], batch: TokenBatch, loss: Loss, scale: float) -> list[Datum]:
    """Return rows as data for a loss on the service. `batch` contains their sampled tokens. `scale` multiplies the
    loss."""
    proximal = iter(loss.proximal(batch).tolist())
    advantages = iter((scale * batch.advantages * batch.weights * loss.correction(batch)).tolist())
    return [
        make_datum(
            row.ids,
            logprobs=align_to_targets(row, lambda span: [next(proximal) for _ in range(len(span))]),
            advantages=align_to_targets(row, lambda span: [next(advantages) for _ in range(len(span))]),
        )
        for row in rows
    ]
