"""Sums over turns, on flat tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def mean_over_turns(values: Tensor, turn: Tensor) -> Tensor:
    """Replace each token's value by the mean over the tokens of its turn: [M] to [M]."""
    turns = int(turn.max()) + 1 if turn.numel() else 0
    sums = values.new_zeros(turns).index_add(0, turn, values)
    return (sums / turn.bincount(minlength=turns))[turn]
