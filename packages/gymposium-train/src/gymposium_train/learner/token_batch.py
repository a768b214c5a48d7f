"""A micro-batch as flat tensors, with one entry per sampled token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from gymposium_train.learner.rows import Row, Span


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """The M sampled tokens of T turns. Rows with the same tokens share their N scored places, but each row has separate
    entries."""

    place: Tensor
    """[M]: index of a token's scored place, 0 … N - 1."""
    turn: Tensor
    """[M]: index of a token's turn, 0 … T - 1."""
    first: Tensor
    """[T]: index of the scored place of each turn's first token. The critic reads the hidden state that predicts it."""
    engine: Tensor
    """[M]: log-probabilities from the engine that sampled the tokens."""
    old: Tensor | None
    """[M]: log-probabilities under the learner's policy before the update. None if the loss does not need them."""
    reference: Tensor | None
    """[M]: log-probabilities under the reference policy. None without a reference."""
    advantages: Tensor
    """[M]: the advantage of each token: its turn's plus its own."""
    weights: Tensor
    """[M]: the weight of each token in the loss."""
    values: Tensor
    """[T]: the critic's values before the update."""
    targets: Tensor
    """[T]: the critic's target values."""


def _list_advantages(span: Span) -> list[float]:
    """Return the advantage of each token."""
    return [span.advantage + own for own in span.token_advantages or (0.0,) * len(span)]


def make_token_batch(rows: Sequence[Row], where: Sequence[int], starts: Sequence[int], device: Any) -> TokenBatch:
    """Make the tensors of some rows. `where` is the index of each row's sequence, and `starts` the first of the N
    places of each sequence. There may be no rows, because a process may run sequences only to keep in step with the
    other processes."""
    spans = [span for row in rows for span in row.spans]
    begins = [starts[sequence] for sequence in where]
    places = [n for row, begin in zip(rows, begins, strict=True) for n in range(begin, begin + row.sampled)]
    lengths = torch.tensor([len(span) for span in spans], dtype=torch.long)
    firsts = (lengths.cumsum(0) - lengths).tolist()

    def tokens(values: Sequence[Sequence[float]]) -> Tensor:
        return torch.tensor([*chain.from_iterable(values)], dtype=torch.float32, device=device)

    def known(values: Sequence[Sequence[float]]) -> Tensor | None:
        return tokens(values) if all(values) else None

    def turns(values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32)

    return TokenBatch(
        place=torch.tensor(places, dtype=torch.long, device=device),
        turn=torch.arange(len(spans)).repeat_interleave(lengths).to(device),
        first=torch.tensor([places[n] for n in firsts], dtype=torch.long, device=device),
        engine=tokens([span.engine for span in spans]),
        old=known([span.old for span in spans]),
        reference=known([span.reference for span in spans]),
        advantages=tokens([_list_advantages(span) for span in spans]),
        weights=turns([span.weight for span in spans]).repeat_interleave(lengths).to(device),
        values=turns([span.value for span in spans]).to(device),
        targets=turns([span.target for span in spans]).to(device),
    )
