"""Which micro-batches a process runs, where several learn together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gymposium_train.learner.layouts import TokenSequence, microbatches
from gymposium_train.parallel.world import Processes

Share = tuple[list[TokenSequence], bool]
"""A micro-batch, and whether what it gives is to be counted."""


def shares(sequences: Sequence[TokenSequence], budget: int, layout: str, world: Processes) -> Iterator[Share]:
    """This process's micro-batches, of at most `budget` tokens. Every process has as many, since none can gather
    weights alone: one that is through runs the shortest sequence for company, and nothing of it counts."""
    by_length = sorted(sequences, key=lambda sequence: len(sequence.ids))
    dealt = [by_length[rank :: world.size] for rank in range(world.size)]
    batches = [[[share[i] for i in batch] for batch in microbatches(share, budget, layout)] for share in dealt]
    mine = batches[world.rank]
    for n in range(max(map(len, batches))):
        yield (mine[n], True) if n < len(mine) else (by_length[:1], False)
