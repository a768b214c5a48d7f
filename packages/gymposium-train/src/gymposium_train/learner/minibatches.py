"""The division of rows into minibatches, one per optimizer step."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from gymposium_train.learner.rows import Row, Tokens


def make_minibatches(rows: Sequence[Row], parts: int, rng: random.Random) -> list[list[Row]]:
    """Divide the rows into at most `parts` random minibatches of about equal size. Rows with the same prompt stay in
    one minibatch if they fit: they are scored in one pass, and their advantages are relative to each other. If few
    prompts have many rows, there are fewer minibatches than `parts`."""
    by_prompt: dict[Tokens, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt, []).append(row)
    most = max(1, math.ceil(len(rows) / parts))
    units = [same[i : i + most] for same in by_prompt.values() for i in range(0, len(same), most)]
    rng.shuffle(units)
    batches: list[list[Row]] = []
    batch: list[Row] = []
    for unit in units:
        batch += unit
        if len(batch) * parts >= len(rows):
            batches.append(batch)
            batch = []
    return [*batches, batch] if batch else batches
