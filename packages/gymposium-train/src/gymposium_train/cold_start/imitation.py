"""Supervised fine-tuning (SFT): batches of lessons, and the schedule of the learning rate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from gymposium.streams import stream
from gymposium_train.cold_start.lessons import Pair
from gymposium_train.config import ColdStart
from gymposium_train.learner import Learner


def cosine(progress: float, settings: ColdStart) -> float:
    """The learning rate at `progress` from 0 to 1: a linear rise, then a cosine to zero."""
    if progress < settings.warmup:
        return settings.learning_rate * progress / settings.warmup
    rest = (progress - settings.warmup) / (1.0 - settings.warmup)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * min(rest, 1.0)))


def batches(lots: Sequence[Sequence[Pair]], size: int, seed: int, *key: str | int) -> Iterator[list[Pair]]:
    """Endless batches, drawn in equal shares from each lot (one for each game): a game with long matches has more
    replies, and is not to be learnt more for it. `key` names the stream, step behind it."""
    for step in itertools.count():
        rng = stream(seed, *(key or ("sft",)), step)
        batch: list[Pair] = []
        for number, lot in enumerate(lots):
            share = size // len(lots) + ((number - step) % len(lots) < size % len(lots))
            batch += rng.choices(lot, k=share)
        yield batch


def imitate(
    learner: Learner, batches: Iterator[list[Pair]], settings: ColdStart, *, progress: Callable[[int], float]
) -> Iterator[dict[str, float]]:
    """SFT steps until `progress(step)` reaches 1. Yields each step's metrics."""
    step = 0
    while (done := progress(step)) < 1.0:
        rate = cosine(done, settings)
        metrics = learner.imitate(next(batches), rate)
        step += 1
        yield {"step": step, **metrics, "train/learning_rate": rate}
