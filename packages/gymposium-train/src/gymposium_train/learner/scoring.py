"""Log-probabilities of sampled tokens, in float32, without ever holding the logits of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gymposium_train.learner.trunk import Head
from gymposium_train.objective.terms import entropy as entropy_of

LOGITS_AT_ONCE = 2**24
"""Logits that are held at once (64 MiB in float32). Where there are more, each piece is computed again on the way back
instead of being kept."""

Entropy = Literal["value", "gradient"]
"""How entropies are asked for: as numbers to report, or with gradients to learn from."""


@dataclass(slots=True)
class Scored:
    """N tokens at places where something was sampled."""

    logprobs: Tensor
    """[N]: of the sampled token, at the sampling temperature."""
    entropy: Tensor | None
    """[N]: of the distribution that it was drawn from, in nats; None where nobody asked."""


def score_tokens(head: Head, states: Tensor, tokens: Tensor, temperature: float, *, entropy: Entropy | None) -> Scored:
    """Score `tokens` [N] by the hidden states [N, H] that predict them."""
    size = max(1, LOGITS_AT_ONCE // head.vocabulary)
    if len(tokens) <= size:
        return Scored(*_piece(head, states, tokens, temperature, entropy))
    edges = [*range(0, len(tokens), size), len(tokens)]
    parts = [
        checkpoint(_piece, head, states[a:b], tokens[a:b], temperature, entropy, use_reentrant=False)
        for a, b in pairwise(edges)
    ]
    logprobs = torch.cat([part[0] for part in parts])
    return Scored(logprobs, torch.cat([part[1] for part in parts]) if entropy else None)


def _piece(
    head: Head, states: Tensor, tokens: Tensor, temperature: float, entropy: Entropy | None
) -> tuple[Tensor, Tensor | None]:
    logits = head(states)
    if temperature != 1.0:
        logits = logits / temperature
    scores = torch.log_softmax(logits, dim=-1)
    logprobs = scores.gather(-1, tokens[:, None])[:, 0]
    if entropy is None:
        return logprobs, None
    return logprobs, entropy_of(scores if entropy == "gradient" else scores.detach())
