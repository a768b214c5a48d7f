"""Settings of learning: loss terms in addition to the policy loss, correction of log-probabilities, and the
optimizer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_train.util.settings import Settings
from gymposium_train.util.variants import Variants

Precision = Literal["auto", "bf16", "fp32"]
Parallel = Literal["replicate", "shard"]
RowsLayout = Literal["shared", "padded", "packed"]


class Entropy(Settings):
    """The entropy bonus, which keeps the policy exploring. It is the entropy of the distribution over each turn's legal
    replies. At each sampled token, the distribution is renormalized over the tokens that continue a legal reply. Other
    tokens earn nothing. It needs `prompting.reply = "move"`, and games that list their legal moves."""

    weight: float = Field(default=0.0, ge=0.0)
    """Weight of the bonus in the first step, in nats per token. 0: no bonus."""
    final_share: float = Field(default=0.05, ge=0.0, le=1.0)
    """Final weight as a share of the initial weight. It decreases linearly over the steps. 1: constant."""


class Legality(Settings):
    """The legality term of the loss: the negative logarithm of the probability that a sampled token continues a legal
    reply. It teaches which replies are legal at each turn, regardless of the reply sampled. The rewards decide which of
    them are good. The cold start uses it, too. It needs games that list their legal moves, and `prompting.reply =
    "move"`. In turns without such a list, the term is 0."""

    weight: float = Field(default=1.0, ge=0.0)
    """Weight of the term, in nats per token. 0: not used."""


class Distillation(Settings):
    """Distillation during reinforcement learning: the teacher labels the learner's decisions in rollouts.

    A teacher that recommends moves adds a term to the loss: at each sampled token, the cross-entropy with its
    probabilities of the tokens that continue a legal reply. A teacher of tokens adds to their advantages: its
    log-probability minus the learner's, a sample of the reverse KL divergence (Lu et al., 2025, On-Policy
    Distillation)."""

    weight: float = Field(default=1.0, ge=0.0)
    """Weight of the term in the first step, in nats per token. 0: the teacher is only asked in the cold start."""
    final_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Final weight as a share of the initial weight. It decreases linearly over the steps. 1: constant."""


class Kl(Settings):
    """The penalty on the distance to the reference, which is the policy before reinforcement learning. After imitation
    of random play, it keeps the policy exploring."""

    weight: float = Field(default=0.1, ge=0.0)
    """Weight of the penalty in the first step, in the loss or in the rewards. 0: no penalty and no reference."""
    final_share: float = Field(default=0.5, ge=0.0, le=1.0)
    """Final weight as a share of the initial weight. It changes linearly over the steps."""
    estimator: Literal["k1", "k2", "k3"] = "k2"
    """`k1` is subtracted from the rewards, turn by turn. `k2` and `k3` (with the gradient of k2: straight-through) are
    terms of the loss (Schulman, 2020). Each token is weighted by its importance ratio, because batches are off-policy
    from the second optimizer step on."""
    refresh: int | None = Field(default=None, ge=1)
    """Number of steps between updates of the reference to the current policy. Never updated if omitted."""
    refresh_share: float = Field(default=1.0, gt=0.0, le=1.0)
    """Weight of the current policy in an update of the reference. 1: the reference becomes the current policy. Below 1,
    its weights become an exponential moving average: (1 - `refresh_share`) x reference + `refresh_share` x policy."""

    @property
    def averages_weights(self) -> bool:
        """Whether the reference is a moving average, which is kept in float32."""
        return self.refresh_share < 1.0


class Sft(Settings):
    """Auxiliary imitation: the cold start's data are also used during reinforcement learning. Off without this
    table."""

    weight: float = Field(gt=0.0)
    """Weight of the imitation loss."""
    batch: int = Field(default=64, ge=1)
    """Number of replies per optimizer step."""


class Mismatch(Settings):
    """How the difference between the engine's log-probabilities and the learner's is handled."""

    kind: str
    """The log-probabilities used as the denominator of the policy's ratios, with every `kl.estimator`."""


class Bypass(Mismatch):
    """Ratios use the engine's log-probabilities."""

    kind: Literal["bypass"] = "bypass"
    """The log-probabilities used as the denominator of the policy's ratios, with every `kl.estimator`."""


class DecoupledMismatch(Mismatch):
    """Ratios use the learner's log-probabilities, computed before the first optimizer step. Tokens are weighted by the
    ratio of the learner's probability to the engine's."""

    kind: Literal["decoupled"] = "decoupled"
    """The log-probabilities used as the denominator of the policy's ratios, with every `kl.estimator`."""
    correction: Literal["truncate", "mask"] = "truncate"
    """`truncate`: weights above `cap` are set to `cap`. `mask`: tokens with weights outside 1/cap … cap are left
    out."""
    cap: float = Field(default=2.0, ge=1.0)
    """Upper bound of the weights. The lower bound is 1/cap."""
    turns: float | None = Field(default=None, gt=1.0)
    """Leave out a whole turn if the geometric mean of its token weights is outside 1/turns … turns (Liu et al., 2025).
    Keep all turns if omitted."""


MISMATCHES = Variants(
    "mismatch", Mismatch, lambda: {"bypass": Bypass, "decoupled": DecoupledMismatch}, default="bypass"
)
"""The table `[mismatch]` of a config."""


TOKENS_PER_PASS = 4_096
"""Default of `optimizer.token_budget` for models whose memory is not estimated."""


class Optimizer(Settings):
    """The optimizer AdamW, its learning rate, and the division of batches into steps."""

    precision: Precision = "auto"
    """Number type for computation. `bf16`: bfloat16. `fp32`: float32. `auto`: `bf16` on GPUs that support it, else
    `fp32`. Trained weights, AdamW's moments and gradient sums are always float32. CPUs with AVX512-BF16 or AMX are
    several times faster with `bf16`."""
    learning_rate: float = Field(default=1e-3, gt=0.0)
    """Peak learning rate."""
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    """How the learning rate decreases from its peak: linearly, along half a cosine, or not at all."""
    final_rate: float = Field(default=0.1, ge=0.0, le=1.0)
    """Final learning rate as a share of the peak. Not used with `schedule=constant`."""
    warmup_steps: int = Field(default=3, ge=0)
    """Number of steps until the learning rate reaches its peak."""
    beta1: float = Field(default=0.9, ge=0.0, lt=1.0)
    """Decay rate of AdamW's first moment, the mean of the gradients."""
    beta2: float = Field(default=0.999, ge=0.0, lt=1.0)
    """Decay rate of AdamW's second moment, the mean of the squared gradients."""
    weight_decay: float = Field(default=0.0, ge=0.0)
    """AdamW's weight decay: each step multiplies the policy's weights by 1 - learning rate x `weight_decay`."""
    epochs: int = Field(default=2, ge=1)
    """Number of passes over the rows of a step."""
    minibatches: int = Field(default=8, ge=1)
    """Maximum number of optimizer steps per pass. Rows with the same prompt stay in one minibatch if they fit. The mean
    gradient over a pass does not depend on this setting."""
    max_grad_norm: float = Field(default=1.0, gt=0.0)
    """Maximum norm of the gradient. A larger gradient is scaled down to it."""
    target_kl: float = Field(default=0.1, ge=0.0)
    """Maximum approximate KL between the policy and the sampling policy, in nats per token. From the second optimizer
    step on, the update ends before a step whose minibatch exceeds it. 0: no limit."""
    token_budget: int | None = Field(default=None, ge=1)
    """Maximum number of tokens per forward pass of the learner, in each process. By default, a run with a named model
    takes the largest power of two whose update fits into half of the memory. It is 1,024 to 65,536 on a GPU, and at
    most 4,096 on a CPU. Other runs use 4,096."""
    max_row: int | None = Field(default=None, ge=2)
    """Maximum length of a row in tokens. Longer rows are dropped and counted, never cut. Default: the model's
    context."""
    layout: RowsLayout | None = None
    """Layout of rows in a forward pass. `shared`: common prefixes are computed once. `packed`: rows are concatenated
    into one long row, and each attends only to itself. `padded`: rows are padded to one length. Architectures that do
    not support packing are padded, too. All layouts give the same gradients. By default, a run on a CPU uses `shared`
    if that fits into half of the memory, else `packed`. GPUs and several processes use `packed`."""
    checkpointing: bool | None = None
    """Whether to use gradient checkpointing, which saves memory and takes about a third more time. Not available with
    `shared`. By default, a run uses it if an update would otherwise not fit into half of the memory."""
    parallel: Parallel | None = None
    """How several processes hold the model. `replicate`: each holds all of it, and gradients are summed once per
    optimizer step. `shard`: each holds a part, and layers are gathered while they run. By default, a run replicates a
    model with a LoRA if its weights take at most a quarter of the memory of a process's device, and shards other
    models."""
    max_bad_steps: int = Field(default=5, ge=1)
    """Abort after this many consecutive non-finite gradients."""

    @property
    def rows_layout(self) -> RowsLayout:
        """The value of `layout`, or `shared` if it is omitted."""
        return self.layout or "shared"

    @property
    def tokens_per_pass(self) -> int:
        """The value of `token_budget`, or `TOKENS_PER_PASS` if it is omitted."""
        return self.token_budget or TOKENS_PER_PASS
