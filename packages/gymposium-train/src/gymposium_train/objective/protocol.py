"""The contract of policy losses, which compute a loss per token from log-probabilities and advantages.

An objective's settings are a subclass of `ObjectiveSettings`. Modules of objectives are imported when a config is read,
so they should not import torch: tensors have all the methods that a loss needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

from pydantic import Field

from gymposium_train.util.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

LARGEST_LOG_RATIO = 20.0
"""Bound on the absolute log-ratio, in nats."""

Aggregation = Literal["token", "turn", "sequence"] | Annotated[float, Field(gt=0.0)]


class ObjectiveSettings(Settings):
    """Base class of an objective's settings, the table `[objective]`. A subclass sets `kind` to its own name:
    `kind: Literal["ppo"] = "ppo"`."""

    prefers_decoupled: ClassVar[bool] = False
    """Whether `mismatch.kind` is `decoupled` by default. A loss needs this if it is sensitive to ratios smaller than
    the mismatch between engine and learner."""
    clip_limit: ClassVar[float] = 0.6
    """Share of tokens outside the clip range above which an update counts as too large."""

    kind: str
    """Which policy loss is used."""
    aggregate: Aggregation = "token"
    """How token losses are averaged. `token`: the mean over all tokens. `turn`: the mean over turns of the mean over
    their tokens. `sequence`: the mean over trajectories of the mean over their tokens. A number: the mean over
    trajectories of the sum over their tokens divided by that number, such as the longest reply (Liu et al., 2025, Dr.
    GRPO). Denominators are those of the whole optimizer step and do not count dropped groups."""


@dataclass(frozen=True, slots=True)
class PolicyTokens:
    """The sampled tokens of a micro-batch, M tokens of T turns. A turn is never split over micro-batches."""

    logprobs: Tensor
    """[M]: log-probabilities under the learner's policy, with gradients."""
    proximal: Tensor
    """[M]: log-probabilities used as the denominator of ratios (the proximal policy of Hilton et al., 2021, arXiv
    2110.00641): the engine's, or the learner's before the update with `mismatch.kind=decoupled`."""
    advantages: Tensor
    """[M]: the advantage of each token's turn."""
    turn: Tensor
    """[M]: the index of each token's turn, from 0 to T - 1."""
    old: Tensor | None = None
    """[M]: log-probabilities under the learner's policy before the update, if the objective `needs_old`."""
    reference: Tensor | None = None
    """[M]: log-probabilities under the reference policy, if the objective `needs_reference`."""


class Objective(Protocol):
    """A policy loss."""

    needs_old: ClassVar[bool] = False
    """Whether the learner computes log-probabilities under the policy before the update."""
    needs_reference: ClassVar[bool] = False
    """Whether the learner keeps a reference policy and computes its log-probabilities."""

    def __call__(self, tokens: PolicyTokens) -> Tensor:
        """Return the loss of each token: [M]. The caller weights and sums it according to `aggregate`."""

    def clipped(self, tokens: PolicyTokens) -> Tensor | None:
        """Return 1 for each token whose ratio is outside the clip range, else 0: [M]. The mean is reported as
        `train/clipfrac`. Returns None if the objective does not clip."""
        return None


def average_over_turns(values: Tensor, turn: Tensor) -> Tensor:
    """Replace each token's value with the mean over its turn's tokens: [M] to [M]."""
    turns = int(turn.max()) + 1 if turn.numel() else 0
    sums = values.new_zeros(turns).index_add(0, turn, values)
    return (sums / turn.bincount(minlength=turns))[turn]


def compute_log_ratio(logprobs: Tensor, sampled: Tensor) -> Tensor:
    """Return the logarithm of the ratio of each token's probabilities, given their logarithms: [M]. It is clamped to
    -`LARGEST_LOG_RATIO` … `LARGEST_LOG_RATIO`, so that all ratios are finite. A clamped token has no gradient."""
    return (logprobs - sampled).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)


def mark_outside(ratio: Tensor, low: float, high: float) -> Tensor:
    """Return 1 for each ratio below `low` or above `high`, else 0: [M]."""
    return ((ratio < low) | (ratio > high)).to(ratio.dtype)
