"""Settings of learning: the terms beside the policy loss, the correction of log-probabilities, and the optimizer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_train.util.settings import Settings
from gymposium_train.util.variants import Variants

Precision = Literal["auto", "bf16", "fp32"]
RowsLayout = Literal["shared", "padded", "packed"]


class Entropy(Settings):
    """The entropy bonus, which keeps the policy exploring. It is the entropy of the distribution over the legal replies
    of each turn: at each sampled token, of the distribution renormalised over the tokens that continue a legal reply.
    Tokens that are no move earn nothing. It needs `prompting.reply = "move"`, and games that list their legal moves."""

    weight: float = Field(default=0.0, ge=0.0)
    """Weight of the bonus in the first step, in nats a token; 0: no bonus."""
    final_share: float = Field(default=0.05, ge=0.0, le=1.0)
    """The weight decreases linearly to this share of itself over the steps. 1: it is constant."""


class Legality(Settings):
    """The legality term of the loss: the negative logarithm of the probability that a sampled token continues a legal
    reply. It teaches which replies are legal at each turn, whatever reply was sampled, and leaves it to the rewards
    which of them are good. The cold start has it, too. It needs games that list their legal moves, and
    `prompting.reply = "move"`; in other turns it is 0."""

    weight: float = Field(default=1.0, ge=0.0)
    """Weight of the term, in nats a token; 0: the loss does not have it."""


class Kl(Settings):
    """The penalty on the distance to the reference, the policy as it was before reinforcement learning. It keeps a
    policy that imitated random play exploring."""

    weight: float = Field(default=0.1, ge=0.0)
    """Weight of the penalty in the first step, in the loss or in the rewards; 0: no penalty and no reference."""
    final_share: float = Field(default=0.5, ge=0.0, le=1.0)
    """The weight changes linearly to this share of itself over the steps."""
    estimator: Literal["k1", "k2", "k3"] = "k2"
    """`k1` is subtracted from the rewards, turn by turn. `k2` and `k3` (with the gradient of k2: straight-through) are
    terms of the loss (Schulman, 2020), each token weighted by its importance ratio, since batches are off-policy from
    the second optimizer step on."""
    refresh: int | None = Field(default=None, ge=1)
    """Number of steps between two updates of the reference to the current policy; it is never updated if this is left
    out."""


class Sft(Settings):
    """Auxiliary imitation: the data of the cold start are also used during reinforcement learning. Without this table
    they are not."""

    weight: float = Field(gt=0.0)
    """Weight of the imitation loss."""
    batch: int = Field(default=64, ge=1)
    """Number of replies in each optimizer step."""


class Mismatch(Settings):
    """How the difference between the engine's log-probabilities and the learner's is handled."""

    kind: str
    """The log-probabilities that the policy's ratios are taken against, with every `kl.estimator`."""


class Bypass(Mismatch):
    """Ratios are taken against the engine's log-probabilities."""

    kind: Literal["bypass"] = "bypass"
    """The log-probabilities that the policy's ratios are taken against, with every `kl.estimator`."""


class Decoupled(Mismatch):
    """Ratios are taken against the learner's own log-probabilities, computed before the first optimizer step. Tokens
    are weighted by the ratio of the learner's probability to the engine's."""

    kind: Literal["decoupled"] = "decoupled"
    """The log-probabilities that the policy's ratios are taken against, with every `kl.estimator`."""
    correction: Literal["truncate", "mask"] = "truncate"
    """`truncate`: weights above `cap` are set to `cap`. `mask`: tokens whose weight is outside 1/cap … cap are left
    out."""
    cap: float = Field(default=2.0, ge=1.0)
    """Bound of the weights, above 1 and, as 1/cap, below."""
    turns: float | None = Field(default=None, gt=1.0)
    """Whole turns are left out if the geometric mean of their tokens' weights is outside 1/turns … turns (Liu et al.,
    2025). No turns are left out without this setting."""


MISMATCHES = Variants("mismatch", Mismatch, lambda: {"bypass": Bypass, "decoupled": Decoupled}, default="bypass")
"""The table `[mismatch]` of a config."""


class Optimizer(Settings):
    """AdamW, its learning rate, and how a batch is divided."""

    precision: Precision = "auto"
    """Number type of the computation. `bf16`: bfloat16. `fp32`: float32. `auto`: `bf16` on a GPU that supports it, else
    `fp32`. Trained weights, AdamW's moments and sums of gradients are always float32. CPUs with AVX512-BF16 or AMX
    compute several times faster with `bf16`."""
    learning_rate: float = Field(default=1e-3, gt=0.0)
    """Peak learning rate."""
    final_rate: float = Field(default=0.1, ge=0.0, le=1.0)
    """The learning rate decreases linearly to this share of its peak."""
    warmup_steps: int = Field(default=3, ge=0)
    """Number of steps in which the learning rate rises."""
    epochs: int = Field(default=2, ge=1)
    """Number of passes over the rows of a step."""
    minibatches: int = Field(default=8, ge=1)
    """Maximum number of optimizer steps in a pass. Rows of one prompt stay in one minibatch as far as they fit. The
    mean gradient over a pass does not depend on it."""
    max_grad_norm: float = Field(default=1.0, gt=0.0)
    """Gradients with a larger norm are scaled down to this norm."""
    target_kl: float = Field(default=0.1, ge=0.0)
    """An update ends before its second or a later optimizer step if the approximate KL of the policy, to the one that
    sampled, is above this on the step's minibatch, in nats a token. 0: no limit."""
    token_budget: int = Field(default=4_096, ge=1)
    """Maximum number of tokens in one forward pass of the learner."""
    max_row: int | None = Field(default=None, ge=2)
    """Maximum length of a row in tokens. Longer rows are dropped and counted, never cut. The default is the model's
    context."""
    layout: RowsLayout | None = None
    """Layout of rows in a forward pass. `shared`: common prefixes are computed once. `packed`: rows are concatenated to
    one long row, in which each attends to itself alone. `padded`: rows are padded to one length; architectures that
    cannot be packed are padded, too. All give the same gradients. By default a run takes `shared` if that fits into
    half of the memory, else `packed`; several processes take `packed`."""
    checkpointing: bool | None = None
    """Whether to use gradient checkpointing, which takes less memory and about a third more time. Not available with
    `shared`. By default a run uses it if an update without it would not fit into half of the memory."""
    max_bad_steps: int = Field(default=5, ge=1)
    """Abort after this many consecutive non-finite gradients."""

    @property
    def rows_layout(self) -> RowsLayout:
        """The value of `layout`, or `shared` if it is left out."""
        return self.layout or "shared"
