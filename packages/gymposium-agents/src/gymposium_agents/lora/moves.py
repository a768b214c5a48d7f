"""Whether an engine's log-probabilities move as the learner's do, from one published version to a later one.

In 16 bits one update moves single numbers by less than rounding does. But rounding does not grow from version to
version, while updates add up. So the moves since a version that is known to agree are compared as soon as the
learner's stand out from rounding: where the updates arrived, the engine's moves correlate with them, and where they
were lost, they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

OUT_OF_ROUNDING = 1.5
"""The learner's moves are compared when their variance is so many times that of rounding."""
ROUNDING_SHARE = 1 / 60
"""Rounding's standard deviation is taken to be at least this share of the tolerance for single numbers: engine and
learner may agree to the bit at one version and not at the next. For bfloat16 that is 0.005 nats."""


@dataclass(frozen=True, slots=True)
class Move:
    """How far the log-probabilities of the same tokens moved between two versions."""

    tokens: int
    engine: float
    """Standard deviation of the engine's moves, in nats."""
    learner: float
    """Of the learner's."""
    correlation: float
    """The larger one of Pearson's and Spearman's: a few tokens whose rounding is large can spoil one of the two."""
    least: float
    """Half of what is expected where the update arrived."""

    @property
    def agrees(self) -> bool:
        return self.correlation >= self.least


class Moves:
    """Compares what an engine and a learner say of the same tokens, version after version."""

    def __init__(self, tolerance: float) -> None:
        """`tolerance` is how far single log-probabilities may be apart, in nats."""
        self._rounding = (tolerance * ROUNDING_SHARE) ** 2
        """The variance of the difference that rounding makes: at least this, and as much as was seen."""
        self._before: tuple[Tensor, Tensor] | None = None
        """What both said of the version that is compared with: the last one that agreed."""

    def compare(self, engine: Sequence[float], learner: Sequence[float]) -> Move | None:
        """How both moved since the last version that agreed. None at the first version, which is taken to agree, and
        where the learner's moves do not stand out from rounding."""
        said = torch.tensor(engine, dtype=torch.float64), torch.tensor(learner, dtype=torch.float64)
        if self._before is None:
            self._agreed(said)
            return None
        theirs, ours = (now - then for now, then in zip(said, self._before, strict=True))
        spread = float(ours.var())
        if spread <= OUT_OF_ROUNDING * self._rounding:
            return None
        # of the learner's variance, rounding's share is noise, and the engine's moves have as much of their own
        least = (1 - self._rounding / spread) / 2
        found = max(_correlation(theirs, ours), _correlation(_ranks(theirs), _ranks(ours)))
        move = Move(len(ours), float(theirs.std()), spread**0.5, found, least)
        if move.agrees:
            self._agreed(said)
        return move

    def _agreed(self, said: tuple[Tensor, Tensor]) -> None:
        self._before = said
        self._rounding = max(self._rounding, float((said[0] - said[1]).var()))


def _correlation(theirs: Tensor, ours: Tensor) -> float:
    """Pearson's; 0 where one of them did not move at all."""
    theirs, ours = theirs - theirs.mean(), ours - ours.mean()
    size = float(theirs.norm() * ours.norm())
    return float(theirs @ ours) / size if size > 0 else 0.0


def _ranks(moves: Tensor) -> Tensor:
    """The place of each move in their order; equal moves share the mean of their places."""
    group: Tensor
    counts: Tensor
    _, group, counts = moves.unique(return_inverse=True, return_counts=True)  # type: ignore[no-untyped-call]
    return (counts.cumsum(0) - (counts - 1) / 2)[group].double()
