"""A model as one module that is called once for each micro-batch: sequences in, hidden states and log-probabilities
out.

Everything of the model runs inside this call, its layers and its output layer alike. A sharded model therefore gathers
its weights before the call and releases them after it (`gymposium_train.parallel.sharding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gymposium_agents.engines.transformers import base_of
from gymposium_train.learner.layouts import LAYOUTS, TokenSequence
from gymposium_train.learner.trunk import Head, Trunk, check_split, keeps_apart
from gymposium_train.objective.terms import entropy as entropy_of, entropy_among, illegality

LOGITS_AT_ONCE = 2**24
"""Maximum number of logits in memory at once (64 MiB in float32). More logits are computed in pieces, and each piece is
computed again in the backward pass instead of being stored."""


class Scored(NamedTuple):
    """What a model computes at the N places of a micro-batch."""

    states: Tensor
    """[N, H]: the hidden states that predict the places."""
    logprobs: Tensor | None = None
    """[N]: the log-probabilities of the tokens at the places, float32; None if only hidden states were computed."""
    entropy: Tensor | None = None
    """[N]: entropies in nats of the distributions of the tokens, without gradients; None if they were not wanted."""
    move_entropy: Tensor | None = None
    """[N]: entropies in nats among the tokens that continue a legal reply; None if no sequence names them or entropies
    were not wanted."""
    illegality: Tensor | None = None
    """[N]: the negative logarithm of the probability of these tokens together; None if no sequence names them."""


class Scorer(nn.Module):
    """A causal language model whose head runs only at the places that are to be predicted."""

    def __init__(self, model: Any, pad: int, layout: str) -> None:
        """Raises `GymposiumError` for an architecture that cannot be split into trunk and head."""
        super().__init__()
        base = base_of(model)
        self._trunk, self._head, self._pad = Trunk(base), Head(base), pad
        check_split(base, self._trunk, self._head)
        self.layout = "padded" if layout == "packed" and not keeps_apart(self._trunk) else layout
        """The layout that is used."""
        self.decoder, self.output = self._trunk.decoder, self._head.layer

    def forward(
        self,
        sequences: Sequence[TokenSequence],
        temperature: float,
        *,
        tokens: bool = True,
        entropy: bool = False,
    ) -> Scored:
        """Score the sequences' N places at this temperature. `tokens=False` computes only hidden states, and
        `entropy=True` also entropies."""
        states = LAYOUTS[self.layout](self._trunk, sequences, self._pad)
        if not tokens:
            return Scored(states)
        ids = torch.tensor(
            [sequence.ids[place] for sequence in sequences for place in sequence.places], device=states.device
        )
        among = _legal(sequences, states.device)
        size = max(1, LOGITS_AT_ONCE // self._head.vocabulary)
        if len(ids) <= size:
            scored = _score(self._head, states, ids, among, temperature, entropy)
        else:
            edges = [*range(0, len(ids), size), len(ids)]
            parts = [
                checkpoint(
                    _score,
                    self._head,
                    states[a:b],
                    ids[a:b],
                    None if among is None else among[a:b],
                    temperature,
                    entropy,
                    use_reentrant=False,
                )
                for a, b in pairwise(edges)
            ]
            scored = tuple(None if some[0] is None else torch.cat(some) for some in zip(*parts, strict=True))
        logprobs, *others = scored
        assert logprobs is not None
        # a copy: FSDP2 adds its hooks to outputs, which must not be views
        return Scored(states, logprobs.clone(), *others)


def _legal(sequences: Sequence[TokenSequence], device: Any) -> Tensor | None:
    """[N, W]: the ids that continue a legal reply at each place, filled up with -1; None if no sequence names them."""
    if not any(sequence.legal for sequence in sequences):
        return None
    each = [ids for sequence in sequences for ids in sequence.legal or ((),) * len(sequence.places)]
    width = max(1, *map(len, each))
    return torch.tensor([[*ids, *[-1] * (width - len(ids))] for ids in each], device=device)


def _score(
    head: Head, states: Tensor, ids: Tensor, among: Tensor | None, temperature: float, entropy: bool
) -> tuple[Tensor | None, ...]:
    """The log-probabilities of tokens by the hidden states that predict them, the entropies if they are wanted, and,
    if other tokens are given, the entropies among those, if they are wanted, and their illegality."""
    logits = head(states)
    if temperature != 1.0:
        logits = logits / temperature
    scores = torch.log_softmax(logits, dim=-1)
    logprobs = scores.gather(-1, ids[:, None])[:, 0]
    entropies = entropy_of(scores.detach()) if entropy else None
    if among is None:
        return logprobs, entropies, None, None
    moves = entropy_among(logits, among) if entropy else None
    return logprobs, entropies, moves, illegality(scores, among)
