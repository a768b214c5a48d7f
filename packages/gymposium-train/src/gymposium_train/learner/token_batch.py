"""A micro-batch as flat tensors, with one entry for each sampled token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from gymposium_train.learner.layouts import TokenSequence
from gymposium_train.rows import Row, Span


@dataclass(slots=True)
class TokenBatch:
    """The M sampled tokens of T turns. Rows with the same tokens are scored once, at N places, and each row keeps its
    own numbers."""

    place: Tensor
    """[M]: which of the N scored places a token is."""
    turn: Tensor
    """[M]: which of the T turns it belongs to."""
    first: Tensor
    """[T]: the scored place of each turn's first token: the hidden state that predicts it is where its value is
    read."""
    engine: Tensor
    """[M]: log-probability by the engine that sampled it."""
    old: Tensor | None
    """[M]: by the policy before the update, as the learner computes it; None where the loss does not need it."""
    reference: Tensor | None
    """[M]: by the reference policy; None without one."""
    advantages: Tensor
    """[M]: of its turn."""
    weights: Tensor
    """[M]: of its loss."""
    values: Tensor
    """[T]: what the critic expected when the update began."""
    targets: Tensor
    """[T]: what it is fitted to."""


def sequence_of(row: Row) -> TokenSequence:
    """The tokens of a row; the places to predict are those of its sampled tokens."""
    return TokenSequence(row.ids, tuple(chain.from_iterable(range(span.start, span.stop) for span in row.spans)))


def token_batch(rows: Sequence[Row], where: Sequence[int], starts: Sequence[int], device: Any) -> TokenBatch:
    """The tensors of some rows. `where` is the index of each row's sequence, `starts` the first of the N places of each
    sequence. There may be no rows: a process also runs sequences only to keep step with the others."""
    spans: list[Span] = []
    place: list[int] = []
    first: list[int] = []
    for row, sequence in zip(rows, where, strict=True):
        at = starts[sequence]
        for span in row.spans:
            first.append(at)
            place += range(at, at + len(span))
            at += len(span)
        spans += row.spans
    lengths = torch.tensor([len(span) for span in spans], dtype=torch.long)

    def tokens(values: Sequence[Sequence[float]]) -> Tensor:
        return torch.tensor([*chain.from_iterable(values)], dtype=torch.float32, device=device)

    def known(values: Sequence[Sequence[float]]) -> Tensor | None:
        return tokens(values) if all(values) else None

    def turns(values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32)

    def spread(values: Sequence[float]) -> Tensor:
        return turns(values).repeat_interleave(lengths).to(device)

    return TokenBatch(
        place=torch.tensor(place, dtype=torch.long, device=device),
        turn=torch.arange(len(spans)).repeat_interleave(lengths).to(device),
        first=torch.tensor(first, dtype=torch.long, device=device),
        engine=tokens([span.engine for span in spans]),
        old=known([span.old for span in spans]),
        reference=known([span.reference for span in spans]),
        advantages=spread([span.advantage for span in spans]),
        weights=spread([span.weight for span in spans]),
        values=turns([span.value for span in spans]).to(device),
        targets=turns([span.target for span in spans]).to(device),
    )
