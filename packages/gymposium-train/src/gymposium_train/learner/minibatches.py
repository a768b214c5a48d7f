"""How rows are shared out over optimizer steps."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from gymposium_train.rows import Row, Tokens


def minibatches(rows: Sequence[Row], parts: int, rng: random.Random) -> Iterator[list[Row]]:
    """The rows in at most `parts` minibatches of about equal size, at random, but with rows of the same prompt together
    as far as they fit: they are scored in one pass, and their advantages are relative to each other."""
    by_prompt: dict[Tokens, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt, []).append(row)
    most = max(1, math.ceil(len(rows) / parts))
    units = [same[i : i + most] for same in by_prompt.values() for i in range(0, len(same), most)]
    rng.shuffle(units)
    batch: list[Row] = []
    for unit in units:
        batch += unit
        if len(batch) * parts >= len(rows):
            yield batch
            batch = []
    if batch:
        yield batch
