"""Terms of the loss beside the policy's: the distance to a reference policy, entropy, the critic's error, and
imitation."""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium.errors import BadOption


def k1(logprobs: Tensor, reference: Tensor) -> Tensor:
    """The plain estimate of KL(policy ‖ reference) at tokens that the policy sampled: the difference of the
    log-probabilities. It is unbiased, but has a high variance and is often below 0. It should be detached and
    subtracted from the reward, where it also accounts for a token's effect on later tokens. In a loss its mean gradient
    is 0 (Tang & Munos, 2025, arXiv 2506.09477)."""
    return logprobs - reference


def k2(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Half the squared difference of the log-probabilities. As a value it is biased. As a loss on samples of the policy
    its mean gradient is exactly that of KL(policy ‖ reference) of the token's distribution (Tang & Munos, 2025)."""
    return 0.5 * (logprobs - reference).square()


def importance(logprobs: Tensor, sampled: Tensor) -> Tensor:
    """The importance ratio of each token that another policy sampled, without a gradient: π(a) / μ(a), where `sampled`
    are the log-probabilities of that policy μ. The ratio times an estimate of the KL has, over samples of μ, the mean
    that the estimate alone has over samples of π.

    For the gradient the ratio must be a constant. With sg for "without gradient", from

        ∇KL(π ‖ ref) = E_{a ~ π}[log(π(a) / ref(a)) ∇log π(a)]
                     = E_{a ~ μ}[sg(π(a) / μ(a)) log(π(a) / ref(a)) ∇log π(a)]

    and ∇k2 = log(π / ref) ∇log π, the mean gradient of the loss sg(π / μ) k2 is that of the KL (Tang & Munos, 2025, for
    μ = π; Liu et al., 2025, arXiv 2510.01555, on the ratio). A ratio with a gradient would give the gradient of
    E_π[k2] instead. The distribution of states remains that of μ, as in PPO."""
    return (logprobs - sampled).detach().exp()


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Schulman's estimate of KL(policy ‖ reference) (2020, "Approximating KL divergence"), unbiased and never below 0,
    for reports. As a loss its gradient is that of KL(reference ‖ policy), the other direction (Tang & Munos, 2025)."""
    difference = reference - logprobs
    return difference.expm1() - difference


def k3_straight_through(logprobs: Tensor, reference: Tensor) -> Tensor:
    """The value of `k3` with the gradient of `k2`, so that both the reported value and the gradient are unbiased."""
    estimate = k2(logprobs, reference)
    return estimate - estimate.detach() + k3(logprobs, reference).detach()


def entropy(scores: Tensor) -> Tensor:
    """Entropy in nats of each distribution, given its log-probabilities: [..., V] to [...]."""
    return -(scores.exp() * scores).sum(dim=-1)


def entropy_among(scores: Tensor, real: Tensor) -> Tensor:
    """Entropy in nats of each distribution renormalised over some of its tokens.

    `scores` [N, W] are the log-probabilities of these tokens, and `real` [N, W] is False where there is none. Returns
    [N], 0 for one token and for none. A renormalised distribution depends on the logits of its tokens alone, so the
    gradient of all others is 0: the probability of the other tokens is neither rewarded nor punished.

    As the bonus it is taken at each sampled token, among those that continue a legal reply. In a tree of replies the
    entropy of the distribution over them is the sum over its nodes of the probability to get there times the entropy
    there (the chain rule), so the sum of the bonus along a reply that is sampled from that distribution has its entropy
    as its mean. If replies may also leave the tree, a node counts as often as it is reached. As in any bonus by token,
    the gradient is that of the entropies alone, not of the probability to get there."""
    some = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    return entropy(some.log_softmax(dim=-1).masked_fill(~real, 0.0))


def illegality(scores: Tensor, real: Tensor) -> Tensor:
    """The negative logarithm of the probability of some tokens together: of those that continue a legal reply.

    `scores` [N, W] are the log-probabilities of these tokens, and `real` [N, W] is False where there is none. Returns
    [N], 0 where there are none. Its gradient raises all of these tokens alike, in proportion to their probabilities, so
    what it teaches is which replies are legal, and not which one is good. Along a legal reply its sum is the negative
    logarithm of the probability that each token stays legal."""
    some = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    return -some.logsumexp(dim=-1).where(real.any(dim=-1), 0.0)


def value_loss(values: Tensor, targets: Tensor, old: Tensor | None = None, clip: float | None = None) -> Tensor:
    """The critic's squared error of each turn. All tensors are [T].

    With `clip`, in units of reward, it is the larger of that and the error of the value held within `clip` of `old`,
    the value before the update (Schulman's code for PPO). Off by default, because it was found to help little
    (Andrychowicz et al., 2021)."""
    error = (values - targets).square()
    if clip is None:
        return error
    if old is None:
        raise BadOption("Clipping the critic's loss needs its values from before the update: hand over `old`.")
    held = old + (values - old).clamp(-clip, clip)
    return torch.maximum(error, (held - targets).square())


def nll(logprobs: Tensor) -> Tensor:
    """The loss of imitation: the negative log-likelihood of each token of a demonstration."""
    return -logprobs
