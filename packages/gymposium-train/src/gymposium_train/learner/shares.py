"""The division of micro-batches over processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gymposium_train.learner.layouts import make_microbatches
from gymposium_train.learner.parallel.world import Processes
from gymposium_train.learner.rows import Row

Share = tuple[list[Row], bool]
"""A micro-batch, and whether its results count."""


def iterate_shares(sequences: Sequence[Row], budget: int, layout: str, world: Processes) -> Iterator[Share]:
    """Yield this process's micro-batches, of at most `budget` tokens. All processes run the same number, because they
    gather weights together. A process with fewer micro-batches runs the shortest sequence instead, and those results do
    not count."""
    by_length = sorted(sequences, key=lambda sequence: len(sequence.ids))
    by_rank = [by_length[rank :: world.size] for rank in range(world.size)]
    batches = [[[share[i] for i in batch] for batch in make_microbatches(share, budget, layout)] for share in by_rank]
    mine = batches[world.rank]
    for n in range(max(map(len, batches))):
        yield (mine[n], True) if n < len(mine) else (by_length[:1], False)
