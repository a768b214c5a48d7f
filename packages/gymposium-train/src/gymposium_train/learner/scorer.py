"""A model as one module that is called once for each micro-batch: sequences in, hidden states and log-probabilities
out.

Everything of the model runs inside this call, its layers and its output layer alike. A sharded model therefore gathers
its weights before the call and releases them after it (`gymposium_train.parallel.sharding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gymposium_agents.engines.transformers import base_of
from gymposium_train.learner.layouts import LAYOUTS, TokenSequence
from gymposium_train.learner.trunk import Head, Trunk, check_split
from gymposium_train.objective.terms import entropy as entropy_of

LOGITS_AT_ONCE = 2**24
"""Maximum number of logits in memory at once (64 MiB in float32). More logits are computed in pieces, and each piece is
computed again in the backward pass instead of being stored."""

Entropy = Literal["value", "gradient"]
"""Form in which entropies are wanted: numbers to report, or with gradients to learn from."""


class Scorer(nn.Module):
    """A causal language model whose head runs only at the places that are to be predicted."""

    def __init__(self, model: Any, pad: int, layout: str) -> None:
        """Raises `GymposiumError` for an architecture that cannot be split into trunk and head."""
        super().__init__()
        base = base_of(model)
        self._trunk, self._head, self._pad, self._layout = Trunk(base), Head(base), pad, LAYOUTS[layout]
        check_split(base, self._trunk, self._head)
        self.decoder, self.output = self._trunk.decoder, self._head.layer

    def forward(
        self,
        sequences: Sequence[TokenSequence],
        temperature: float,
        *,
        tokens: bool = True,
        entropy: Entropy | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The hidden states [N, H] that predict the sequences' N places, the log-probabilities [N] of the tokens there
        in float32, and the entropies [N] in nats of the distributions of those tokens. `tokens=False` computes only
        hidden states; entropies are computed if `entropy` is given."""
        states = self._layout(self._trunk, sequences, self._pad)
        if not tokens:
            return states, None, None
        ids = torch.tensor(
            [sequence.ids[place] for sequence in sequences for place in sequence.places], device=states.device
        )
        size = max(1, LOGITS_AT_ONCE // self._head.vocabulary)
        if len(ids) <= size:
            logprobs, entropies = _score(self._head, states, ids, temperature, entropy)
        else:
            edges = [*range(0, len(ids), size), len(ids)]
            parts = [
                checkpoint(_score, self._head, states[a:b], ids[a:b], temperature, entropy, use_reentrant=False)
                for a, b in pairwise(edges)
            ]
            logprobs = torch.cat([part[0] for part in parts])
            entropies = torch.cat([part[1] for part in parts]) if entropy else None
        return states, logprobs.clone(), entropies  # a copy: FSDP2 adds its hooks to outputs, which must not be views


def _score(
    head: Head, states: Tensor, ids: Tensor, temperature: float, entropy: Entropy | None
) -> tuple[Tensor, Tensor | None]:
    """The log-probabilities of tokens, and the entropies if they are wanted, by the hidden states that predict them."""
    logits = head(states)
    if temperature != 1.0:
        logits = logits / temperature
    scores = torch.log_softmax(logits, dim=-1)
    logprobs = scores.gather(-1, ids[:, None])[:, 0]
    if entropy is None:
        return logprobs, None
    return logprobs, entropy_of(scores if entropy == "gradient" else scores.detach())
