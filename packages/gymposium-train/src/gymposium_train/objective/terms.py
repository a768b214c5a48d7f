"""Loss terms in addition to the policy's: the distance to a reference policy, entropy, the critic's error, and
imitation."""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium.errors import BadOption
from gymposium_train.objective.protocol import compute_log_ratio


def k1(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Return the plain estimate of KL(policy ‖ reference) at tokens sampled by the policy: the difference of the
    log-probabilities. It is unbiased, but has a high variance and is often below 0. Detach it and subtract it from the
    reward, where it also accounts for a token's effect on later tokens. In a loss, its mean gradient is 0 (Tang &
    Munos, 2025, arXiv 2506.09477)."""
    return logprobs - reference


def k2(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Return half the squared difference of the log-probabilities. As a value, it is biased. As a loss on samples of
    the policy, its mean gradient is exactly that of KL(policy ‖ reference) over the token's distribution (Tang & Munos,
    2025)."""
    return 0.5 * (logprobs - reference).square()


def compute_importance(logprobs: Tensor, sampled: Tensor) -> Tensor:
    """Return the importance ratio π(a) / μ(a) of each token sampled by another policy μ, without a gradient. `sampled`
    are the log-probabilities under μ. Over samples of μ, the ratio times a KL estimate has the same mean as the
    estimate alone over samples of π.

    For the gradient, the ratio must be a constant. With sg for "without gradient", from

        ∇KL(π ‖ ref) = E_{a ~ π}[log(π(a) / ref(a)) ∇log π(a)]
                     = E_{a ~ μ}[sg(π(a) / μ(a)) log(π(a) / ref(a)) ∇log π(a)]

    and ∇k2 = log(π / ref) ∇log π, the mean gradient of the loss sg(π / μ) k2 is that of the KL (Tang & Munos, 2025, for
    μ = π; Liu et al., 2025, arXiv 2510.01555, on the ratio). A ratio with a gradient would give the gradient of E_π[k2]
    instead. The distribution of states remains that of μ, as in PPO."""
    return compute_log_ratio(logprobs, sampled).detach().exp()


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Return Schulman's estimate of KL(policy ‖ reference) (2020, "Approximating KL divergence"), unbiased and never
    below 0, for reports. As a loss, its gradient is that of the reverse, KL(reference ‖ policy) (Tang & Munos,
    2025)."""
    difference = compute_log_ratio(reference, logprobs)
    return difference.expm1() - difference


def k3_straight_through(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Return the value of `k3` with the gradient of `k2`, so that both the reported value and the gradient are
    unbiased."""
    estimate = k2(logprobs, reference)
    return estimate - estimate.detach() + k3(logprobs, reference).detach()


def compute_entropy(scores: Tensor) -> Tensor:
    """Return the entropy in nats of each distribution, given its log-probabilities: [..., V] to [...]."""
    return -(scores.exp() * scores).sum(dim=-1)


def compute_entropy_among(scores: Tensor, real: Tensor) -> Tensor:
    """Return the entropy in nats of each distribution, renormalized over some of its tokens.

    `scores` [N, W] are the log-probabilities of these tokens, and `real` [N, W] is False for padding. Returns [N], with
    0 for fewer than two tokens. A renormalized distribution depends only on the logits of its tokens, so all other
    tokens have gradient 0. Their probability is neither rewarded nor penalized.

    As a bonus, it is taken at each sampled token, among those that continue a legal reply. By the chain rule, the
    entropy over a tree of replies is a sum over its nodes: each node's entropy, times the probability of reaching the
    node. The bonus summed along a reply sampled from that distribution therefore has its entropy as the mean. If
    replies may also leave the tree, a node counts as often as it is reached. As in any per-token bonus, the gradient is
    that of the entropies only, not of the probability of reaching a node."""
    some = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    return compute_entropy(some.log_softmax(dim=-1).masked_fill(~real, 0.0))


def compute_illegality(scores: Tensor, real: Tensor) -> Tensor:
    """Return the negative logarithm of the total probability of the tokens that continue a legal reply.

    `scores` [N, W] are the log-probabilities of these tokens, and `real` [N, W] is False for padding. Returns [N], with
    0 if there are no such tokens. Its gradient raises all of these tokens in proportion to their probabilities. It
    teaches which replies are legal, not which one is good. Summed along a legal reply, it is the negative
    log-probability that every token stays legal."""
    some = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    return -some.logsumexp(dim=-1).where(real.any(dim=-1), 0.0)


def compute_cross_entropy(scores: Tensor, taught: Tensor) -> Tensor:
    """Return the cross-entropy in nats of each distribution with a teacher's: [N, W] to [N].

    `scores` are the log-probabilities of the tokens that continue a legal reply, and `taught` the teacher's
    probabilities of these tokens, with 0 for padding. Each is a node of the tree of legal replies. By the chain rule,
    the cross-entropy of distributions over replies is a sum over the nodes, times the teacher's probability of reaching
    the node. Summed along one reply drawn from the teacher's distribution, it is therefore an unbiased estimate."""
    return -(scores * taught).sum(dim=-1)


def compute_value_loss(values: Tensor, targets: Tensor, old: Tensor | None = None, clip: float | None = None) -> Tensor:
    """Return the critic's squared error for each turn. All tensors are [T].

    With `clip`, in units of reward, the value is also clamped to within `clip` of `old`, the value before the update.
    The loss is then the larger of the two errors (Schulman's code for PPO). Off by default, because it was found to
    help little (Andrychowicz et al., 2021)."""
    error = (values - targets).square()
    if clip is None:
        return error
    if old is None:
        raise BadOption("Clipping the critic's loss needs its values from before the update. Pass `old`.")
    held = old + (values - old).clamp(-clip, clip)
    return torch.maximum(error, (held - targets).square())


def compute_nll(logprobs: Tensor) -> Tensor:
    """Return the imitation loss: the negative log-likelihood of each token of a demonstration."""
    return -logprobs
