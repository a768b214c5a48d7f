"""How numbers become weights: credit, objective, terms beside it, and the optimizer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_train.config.part import Part

Precision = Literal["auto", "bf16", "fp32"]

BY_TURN = ("gae", "gigpo")
"""The kinds of credit that look at single turns, so that it matters to them when a match paid."""


class Credit(Part):
    """Who deserves what: rewards to an advantage for each turn."""

    kind: Literal["grpo", "rloo", "baseline", "rae", "gae", "gigpo"] = "grpo"
    """`grpo`: the reward less its group's mean (Shao et al., 2024). `rloo`: less the mean of the others. `baseline`:
    less the mean of all matches of the same game and seat in the step. `rae`: less a moving mean of the game and seat
    (Liu et al., 2025, SPIRAL), for self-play. `gae`: a critic's advantage over turns (Schulman et al., 2016), which
    makes PPO. `gigpo`: grpo and, beside it, turns at the same state compared (Feng et al., 2025)."""
    normalise: bool = True
    """Divide by the standard deviation: of the group in `grpo` and `gigpo`, of all turns in `gae`, of the batch in
    `baseline`."""
    gamma: float = Field(default=1.0, gt=0.0, le=1.0)
    """Discount of a turn, in `gae` and `gigpo`."""
    lam: float = Field(default=0.95, ge=0.0, le=1.0)
    """Lambda of `gae`, over turns."""
    decay: float = Field(default=0.95, ge=0.0, lt=1.0)
    """Of the moving mean of `rae`."""
    step_weight: float = Field(default=1.0, ge=0.0)
    """Weight of the same-state advantages of `gigpo`."""


class Objective(Part):
    """The policy loss."""

    kind: Literal["ppo", "gspo", "cispo", "pg"] = "ppo"
    """`ppo`: clipped ratios (Schulman et al., 2017). `gspo`: the ratio of a whole turn is clipped (Zheng et al., 2025).
    `cispo`: clipped weights on the log-probabilities (MiniMax, 2025). `pg`: policy gradient with truncated importance
    weights."""
    clip_low: float = Field(default=0.2, ge=0.0)
    """Ratios are held above 1 less this. The defaults suit `ppo`: a turn's mean varies less than its tokens, and the
    paper of `gspo` has 3e-4 and 4e-4; that of `cispo` sets no lower bound, which is 1."""
    clip_high: float = Field(default=0.28, ge=0.0)
    """Ratios are held below 1 and this; with `pg`, weights are truncated there."""
    aggregate: Literal["token", "turn", "sequence", "constant"] = "token"
    """What the loss is the mean over: all tokens; turns of the mean over their tokens; trajectories of the mean over
    their tokens; trajectories of the sum over their tokens divided by `constant` (Liu et al., 2025, Dr. GRPO).
    Denominators are those of the whole optimizer step; dropped groups are not in them."""
    constant: float | None = Field(default=None, gt=0.0)
    """What the sum over a trajectory's tokens is divided by, with `aggregate = "constant"`."""


class Entropy(Part):
    """A bonus for staying undecided."""

    weight: float = Field(default=0.08, ge=0.0)
    """In the first step; in nats a token."""
    final_share: float = Field(default=0.05, ge=0.0, le=1.0)
    """The weight falls linearly to this share of itself over the steps. 1: it stays."""


class Kl(Part):
    """What it costs to move away from the reference: the policy as it was before reinforcement learning."""

    weight: float = Field(default=0.0, ge=0.0)
    """In the loss, or in the rewards; 0: there is no reference."""
    final_share: float = Field(default=1.0, ge=0.0, le=1.0)
    """The weight goes linearly to this share of itself over the steps."""
    estimator: Literal["k1", "k2", "k3"] = "k2"
    """`k1` comes off the rewards, turn by turn. `k2` and `k3` (with k2's gradient: straight-through) stand in the loss
    (Schulman, 2020), each token weighted by its importance ratio, since batches are off-policy from the second
    optimizer step on."""
    refresh: int | None = Field(default=None, ge=1)
    """So many steps after which the reference becomes the policy as it is then; left out, it stays."""


class Sft(Part):
    """Imitation beside reinforcement: the cold start's data go on being learned from."""

    weight: float = Field(default=0.0, ge=0.0)
    """In the loss; 0: no imitation."""
    batch: int = Field(default=64, ge=1)
    """Replies in each optimizer step."""


class Critic(Part):
    """The critic of `gae`: a value head, zero at first, on the policy's last hidden state; one value a turn, read at
    the last token of its prompt."""

    weight: float = Field(default=0.5, ge=0.0)
    """Of the value loss."""
    learning_rate: float = Field(default=1e-2, gt=0.0)
    """Of the head."""
    detached: bool = False
    """Whether the value loss leaves the model below the head alone."""
    scale: float = Field(default=1.0, gt=0.0)
    """What the head's 1 stands for, in units of reward, and what its errors are measured in: about how far returns are
    spread. 1 suits wins and losses; scores in the hundreds need hundreds, or the values never get there."""
    warmup: int = Field(default=0, ge=0)
    """Steps at first in which only the critic learns."""
    clip: float | None = Field(default=None, gt=0.0)
    """Values are held this near to what they were; left out, they are not."""


class Mismatch(Part):
    """What is done about the engine's log-probabilities not being the learner's own."""

    mode: Literal["bypass", "decoupled"] = "bypass"
    """What the policy's ratios are taken against, with every `kl.estimator`. `bypass`: the engine's log-probabilities.
    `decoupled`: the learner's own, computed before the first optimizer step; tokens are then weighted by the ratio of
    the learner's probability to the engine's."""
    correction: Literal["truncate", "mask"] = "truncate"
    """`truncate`: weights above `cap` are `cap`. `mask`: tokens whose weight is outside 1/cap … cap are left out."""
    cap: float = Field(default=2.0, ge=1.0)
    """How far a weight may be from 1."""
    turns: float | None = Field(default=None, gt=1.0)
    """Whole turns are left out where the geometric mean of their tokens' weights is outside 1/turns … turns (Liu et
    al., 2025); left out, none are."""


class Optimizer(Part):
    """AdamW, its learning rate, and how a batch is cut."""

    precision: Precision = "auto"
    """What the model computes in. `bf16`: bfloat16. `fp32`: float32. `auto`: `bf16` on a GPU that has it, else `fp32`.
    Weights that are trained, what AdamW keeps of them and sums of gradients are float32 with each of them; the frozen
    weights beneath a LoRA are of the type that is computed in."""
    learning_rate: float = Field(default=4e-3, gt=0.0)
    """At its height; the default is for the small model, and far too high for one that is trained already."""
    final_rate: float = Field(default=0.1, ge=0.0, le=1.0)
    """The learning rate falls linearly to this share of itself."""
    warmup_steps: int = Field(default=3, ge=0)
    """Steps in which the learning rate rises."""
    epochs: int = Field(default=2, ge=1)
    """Passes over a step's rows."""
    minibatches: int = Field(default=2, ge=1)
    """Optimizer steps in a pass, at most: rows of one prompt stay in one step as far as they fit. The mean gradient
    over a pass does not depend on it."""
    max_grad_norm: float = Field(default=1.0, gt=0.0)
    """A gradient that is longer is cut to this length."""
    target_kl: float | None = Field(default=None, gt=0.0)
    """No further pass over the rows begins when the approximate KL of the last one is above this."""
    token_budget: int = Field(default=4_096, ge=1)
    """Tokens in one forward pass of the learner."""
    max_row: int | None = Field(default=None, ge=2)
    """Longer rows are dropped and counted, never cut; left out, the model's context."""
    layout: Literal["shared", "padded", "packed"] = "shared"
    """How rows go through the model: what they begin with alike is run once; padded to one length; or behind each other
    in one long row. All give the same gradients."""
    checkpointing: bool = False
    """Gradient checkpointing: less memory for more time. Not with `shared`."""
    max_bad_steps: int = Field(default=5, ge=1)
    """So many optimizer steps in a row with a gradient that is not finite stop the run."""
