"""Terms that stand beside the policy's loss: the distance to a reference, entropy, the critic's, imitation."""

from __future__ import annotations

import torch
from torch import Tensor

from gymposium.errors import BadOption


def k1(logprobs: Tensor, reference: Tensor) -> Tensor:
    """The plain estimate of KL(policy ‖ reference) at tokens that the policy sampled: the difference of the
    log-probabilities. Unbiased, but it varies, and is often below 0. It belongs in the reward, detached and taken off:
    there it also counts what a token does to those after it. In a loss its gradient is 0 in the mean (Tang & Munos,
    2025, arXiv 2506.09477)."""
    return logprobs - reference


def k2(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Half the squared difference. As a value it is biased; as a loss on samples of the policy its gradient is in the
    mean exactly that of KL(policy ‖ reference) of the token's own distribution (Tang & Munos, 2025)."""
    return 0.5 * (logprobs - reference).square()


def importance(logprobs: Tensor, sampled: Tensor) -> Tensor:
    """The importance ratio of each token that another policy sampled, without a gradient: π(a) / μ(a), where `sampled`
    are the log-probabilities of that policy μ. Times an estimate of the KL it gives, in the mean over samples of μ,
    what the estimate alone gives over samples of π.

    For the gradient the ratio must be a constant. With sg for "without gradient", from

        ∇KL(π ‖ ref) = E_{a ~ π}[log(π(a) / ref(a)) ∇log π(a)]
                     = E_{a ~ μ}[sg(π(a) / μ(a)) log(π(a) / ref(a)) ∇log π(a)]

    and ∇k2 = log(π / ref) ∇log π, the loss sg(π / μ) k2 has in the mean the gradient of the KL (Tang & Munos, 2025, for
    μ = π; Liu et al., 2025, arXiv 2510.01555, on the ratio). A ratio with a gradient would give that of E_π[k2], which
    is another one. The distribution of states is left as μ has it, as in PPO."""
    return (logprobs - sampled).detach().exp()


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Schulman's estimate (2020, "Approximating KL divergence"): unbiased and never below 0, the one to report. As a
    loss its gradient is that of KL(reference ‖ policy), the other direction (Tang & Munos, 2025)."""
    difference = reference - logprobs
    return difference.expm1() - difference


def k3_straight_through(logprobs: Tensor, reference: Tensor) -> Tensor:
    """The value of `k3` with the gradient of `k2`: what is reported is unbiased, and so is the gradient
    that is followed."""
    followed = k2(logprobs, reference)
    return followed - followed.detach() + k3(logprobs, reference).detach()


def entropy(scores: Tensor) -> Tensor:
    """Entropy in nats of each distribution, given its log-probabilities: [..., V] to [...]."""
    return -(scores.exp() * scores).sum(dim=-1)


def value_loss(values: Tensor, targets: Tensor, old: Tensor | None = None, clip: float | None = None) -> Tensor:
    """The critic's squared error, one a turn: all [T].

    With `clip`, the worse of that and the error of the value held within `clip` of `old`, what it was before the
    update (Schulman's code for PPO). Off by default: `clip` is in units of reward, and it helps little where it was
    looked into (Andrychowicz et al., 2021)."""
    error = (values - targets).square()
    if clip is None:
        return error
    if old is None:
        raise BadOption("Clipping the critic's loss needs its values from before the update: hand over `old`.")
    held = old + (values - old).clamp(-clip, clip)
    return torch.maximum(error, (held - targets).square())


def nll(logprobs: Tensor) -> Tensor:
    """Imitation: the negative log-likelihood of each token of a demonstration."""
    return -logprobs
