"""A model as one module called once per micro-batch: sequences in, hidden states and log-probabilities out.

The whole model runs inside this call, including its output layer. A sharded model therefore gathers its weights before
the call and releases them after it (`gymposium_train.learner.parallel.sharding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gymposium_agents.engines.transformers import unwrap_peft
from gymposium_train.config.learn import RowsLayout
from gymposium_train.config.model import Attention
from gymposium_train.learner.head import Head
from gymposium_train.learner.layouts import LAYOUTS
from gymposium_train.learner.rows import Row
from gymposium_train.learner.trunk import Trunk, check_split
from gymposium_train.objective.terms import (
    compute_cross_entropy,
    compute_entropy_among,
    compute_illegality,
)


class PlaceScores(NamedTuple):
    """A model's outputs at the N places of a micro-batch."""

    states: Tensor
    """[N, H]: the hidden states that predict the places."""
    logprobs: Tensor | None = None
    """[N]: the log-probabilities of the tokens at the places, float32. None if only hidden states were computed."""
    entropy: Tensor | None = None
    """[N]: entropies in nats of the tokens' distributions, without gradients. None if not requested."""
    move_entropy: Tensor | None = None
    """[N]: entropies in nats among the tokens that continue a legal reply. None if no sequence names them or entropies
    were not requested."""
    illegality: Tensor | None = None
    """[N]: the negative logarithm of the total probability of tokens that continue a legal reply. None if no sequence
    names them."""
    distillation: Tensor | None = None
    """[N]: the cross-entropy with a teacher's distributions, and 0 at places without one. None if no sequence has a
    teacher's distributions."""
    is_taught: Tensor | None = None
    """[N]: whether a place has a teacher's distribution. None if no sequence has any."""
    is_likeliest: Tensor | None = None
    """[N]: whether each token is the most likely one. None if not requested."""


class Scorer(nn.Module):
    """A causal language model whose head runs only at the places to predict."""

    def __init__(
        self,
        model: Any,
        pad: int,
        layout: RowsLayout,
        attention: Attention,
        *,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
        check: bool = True,
    ) -> None:
        """`device` and `dtype` are as in `Trunk.pack`. `check=False` is for models with fake tensors. It assumes that
        the architecture supports everything.

        Raises `GymposiumError` for an architecture that cannot be split into trunk and head, and `BadOption` for an
        attention that the device does not support."""
        super().__init__()
        base = unwrap_peft(model)
        self._trunk, self._head, self._pad = Trunk(base), Head.from_model(base), pad
        if check:
            check_split(base, self._trunk, self._head)
        packs = layout == "packed" and self._trunk.pack(attention, device=device, dtype=dtype, check=check)
        self.layout: RowsLayout = "padded" if layout == "packed" and not packs else layout
        """The layout that is in use."""
        self.decoder, self.output = self._trunk.decoder, self._head.layer

    @property
    def attention(self) -> Attention:
        """The attention used in packed rows."""
        return self._trunk.attention

    @property
    def vocabulary(self) -> int:
        """V, the number of tokens."""
        return self._head.vocabulary

    def forward(
        self,
        sequences: Sequence[Row],
        temperature: float,
        *,
        tokens: bool = True,
        entropy: bool = False,
        likeliest: bool = False,
    ) -> PlaceScores:
        """Score the sequences' N places at this temperature. `tokens=False` computes only hidden states. `entropy=True`
        also computes entropies, and `likeliest=True` which tokens are the most likely ones."""
        states = LAYOUTS[self.layout](self._trunk, sequences, self._pad)
        if not tokens:
            return PlaceScores(states)
        ids = torch.tensor(
            [[sequence.ids[place]] for sequence in sequences for place in sequence.places], device=states.device
        )
        among = _make_legal_tensor(sequences, states.device)
        wanted = ids if among is None else torch.cat([ids, among], dim=1)
        scores, entropies = self._head.logprobs(states, wanted, temperature=temperature, entropy=entropy)
        # copies: FSDP2 adds its hooks to outputs, which must not be views
        scored = PlaceScores(states, scores[:, 0].clone(), entropies)
        if likeliest:
            scored = scored._replace(is_likeliest=self._head.likeliest(states) == ids[:, 0])
        if among is None:
            return scored
        of_legal, real = scores[:, 1:], among >= 0
        moves = compute_entropy_among(of_legal, real) if entropy else None
        scored = scored._replace(move_entropy=moves, illegality=compute_illegality(of_legal, real))
        if (taught := _make_taught_tensor(sequences, among)) is None:
            return scored
        return scored._replace(distillation=compute_cross_entropy(of_legal, taught), is_taught=taught.any(dim=-1))


def _make_legal_tensor(sequences: Sequence[Row], device: Any) -> Tensor | None:
    """Return the ids that continue a legal reply at each place, padded with -1: [N, W]. Returns None if no sequence
    names them."""
    if not any(sequence.legal for sequence in sequences):
        return None
    each = [ids for sequence in sequences for ids in sequence.legal or [()] * sequence.sampled]
    width = max(1, *map(len, each))
    return torch.tensor([[*ids, *[-1] * (width - len(ids))] for ids in each], device=device)


def _make_taught_tensor(sequences: Sequence[Row], among: Tensor) -> Tensor | None:
    """Return a teacher's probabilities of the ids `among` [N, W], with 0 for padding and at places without a teacher.
    Returns None if no sequence has any."""
    if not any(sequence.taught for sequence in sequences):
        return None
    width = among.shape[1]
    each = [odds for sequence in sequences for odds in sequence.taught or [()] * sequence.sampled]
    return torch.tensor([[*odds, *[0.0] * (width - len(odds))] for odds in each], device=among.device)
