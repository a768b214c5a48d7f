"""A model as one module that is called once for a micro-batch: sequences in, hidden states and scores out.

All that runs of the model runs inside of that call, layers and output alike. Whoever shares a model out over processes
has one place to gather weights before and to let go of them behind (`gymposium_train.parallel.sharding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gymposium_agents.engines.transformers import base_of
from gymposium_train.learner.layouts import LAYOUTS, TokenSequence
from gymposium_train.learner.scoring import Entropy, score_tokens
from gymposium_train.learner.trunk import Head, Trunk, check_split


class Scorer(nn.Module):
    """A causal language model whose head runs only at the places that are to be predicted."""

    def __init__(self, model: Any, pad: int, layout: str) -> None:
        """Raises `GymposiumError` for an architecture that cannot be taken apart."""
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
        """The hidden states [N, H] that predict the sequences' N places, the log-probabilities [N] of the tokens there,
        where `tokens` are asked for, and the entropies [N], where those are."""
        states = self._layout(self._trunk, sequences, self._pad)
        if not tokens:
            return states, None, None
        there = torch.tensor([one.ids[place] for one in sequences for place in one.places], device=states.device)
        scored = score_tokens(self._head, states, there, temperature, entropy=entropy)
        return states, scored.logprobs.clone(), scored.entropy  # no view of another tensor: FSDP2 hangs its hooks on it
