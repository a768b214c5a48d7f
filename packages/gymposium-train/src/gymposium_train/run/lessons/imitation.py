"""Supervised fine-tuning (SFT): batches of lessons, the learning-rate schedule, and the stop rule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from gymposium.util.streams import stream
from gymposium_train.config import ColdStart
from gymposium_train.learner import Learner
from gymposium_train.learner.protocol import Demonstration, group_conversations

LEAST_END = 16
"""Minimum number of steps between deciding to end a cold start and its end."""


def compute_cosine_rate(progress: float, settings: ColdStart) -> float:
    """Return the learning rate at `progress` from 0 to 1: a linear warmup, then a cosine decay to zero."""
    if progress < settings.warmup:
        return settings.learning_rate * progress / settings.warmup
    rest = (progress - settings.warmup) / (1.0 - settings.warmup)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * min(rest, 1.0)))


class ColdStartProgress:
    """The progress of a cold start, from 0 to 1. It reaches 1 after the maximum number of steps, or earlier once the
    end is decided. In that case, the cold start continues for a quarter of the steps taken so far, while the learning
    rate decreases to zero."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._known: tuple[int, float] | None = None
        """The step when the end was decided, and the progress at that step."""

    @property
    def known(self) -> bool:
        """True if the end is decided."""
        return self._known is not None

    def soon(self, step: int) -> None:
        """Decide to end soon after this step, whose progress has already been used."""
        self._known = self._known or (step, self(step))

    def __call__(self, step: int) -> float:
        if self._known is None:
            return step / self._steps
        since, progress = self._known
        return progress + (1.0 - progress) * (step - since) / max(LEAST_END, since // 4)


def mix_batches(
    lots: Sequence[Sequence[Demonstration]], size: int, seed: int, *key: str | int, first: int = 0
) -> Iterator[list[Demonstration]]:
    """Yield endless batches of `size` demonstrations, with equal shares from each lot. There is one lot per game, so
    that games with long matches do not dominate. Replies of one conversation are drawn together, so that it is computed
    once. A batch may then exceed `size` by less than one conversation per lot. `key` names the random stream, extended
    by the step, counted from `first`."""
    in_lots = [group_conversations(lot) for lot in lots]
    for step in itertools.count(first):
        rng = stream(seed, *(key or ("sft",)), step)
        batch: list[Demonstration] = []
        for number, lot in enumerate(in_lots):
            wanted = len(batch) + size // len(lots) + ((number - step) % len(lots) < size % len(lots))
            for conversation in rng.choices(lot, k=wanted - len(batch)):
                if len(batch) < wanted:
                    batch += conversation
        yield batch


def imitate_batches(
    learner: Learner, batches: Iterator[list[Demonstration]], settings: ColdStart, *, progress: Callable[[int], float]
) -> Iterator[dict[str, float]]:
    """Take SFT steps until `progress(step)` reaches 1. Yields the metrics of each step."""
    step = 0
    while (done := progress(step)) < 1.0:
        rate = compute_cosine_rate(done, settings)
        step += 1
        yield {"step": step, **learner.imitate(next(batches), rate), "train/learning_rate": rate}
