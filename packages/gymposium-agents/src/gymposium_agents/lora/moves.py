"""A check that an engine's log-probabilities change like the learner's between published versions.

In 16 bits, one update changes a log-probability by less than rounding does. Rounding does not grow from version to
version, but updates add up. The changes since the last matching version are therefore compared as soon as the learner's
exceed rounding. If the updates arrived, the engine's changes correlate with them. If they were lost, they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

OUT_OF_ROUNDING = 1.5
"""Changes are compared if the variance of the learner's changes exceeds the rounding variance by this factor."""
ROUNDING_SHARE = 1 / 20
"""Minimum standard deviation of rounding, as a share of the tolerance for the mean. Engine and learner may
agree bitwise at one version and not at the next. For bfloat16, the minimum is 0.005 nats."""


@dataclass(frozen=True, slots=True)
class LogprobChange:
    """The change in the same tokens' log-probabilities between two versions."""

    tokens: int
    """Number of tokens."""
    engine: float
    """Standard deviation of the engine's changes, in nats."""
    learner: float
    """Standard deviation of the learner's changes, in nats."""
    correlation: float
    """The larger of Pearson's and Spearman's correlation between the engine's and the learner's changes. A few tokens
    with large rounding can spoil one of the two."""
    least: float
    """Half of the correlation expected if the update arrived."""

    @property
    def agrees(self) -> bool:
        """Whether the correlation is large enough."""
        return self.correlation >= self.least


class ChangeTracker:
    """Changes of the same tokens' log-probabilities from version to version, for an engine and a learner."""

    def __init__(self, tolerance: float) -> None:
        """`tolerance` is the largest accepted difference between log-probabilities, in nats."""
        self._rounding = (tolerance * ROUNDING_SHARE) ** 2
        """The largest variance of rounding differences so far. It begins at the minimum."""
        self._before: tuple[Tensor, Tensor] | None = None
        """The log-probabilities of engine and learner at the last matching version."""

    def compare(self, engine: Sequence[float], learner: Sequence[float]) -> LogprobChange | None:
        """Return the changes since the last matching version. Returns None at the first version, which is assumed to
        match, and if the learner's changes do not exceed rounding."""
        logprobs = torch.tensor(engine, dtype=torch.float64), torch.tensor(learner, dtype=torch.float64)
        if self._before is None:
            self._note_match(logprobs)
            return None
        theirs, ours = (now - then for now, then in zip(logprobs, self._before, strict=True))
        spread = float(ours.var())
        if spread <= OUT_OF_ROUNDING * self._rounding:
            return None
        # rounding is noise in the learner's variance, and the engine's changes are equally noisy
        least = (1 - self._rounding / spread) / 2
        correlation = max(_compute_pearson(theirs, ours), _compute_pearson(_rank_changes(theirs), _rank_changes(ours)))
        move = LogprobChange(len(ours), float(theirs.std()), spread**0.5, correlation, least)
        if move.agrees:
            self._note_match(logprobs)
        return move

    def _note_match(self, logprobs: tuple[Tensor, Tensor]) -> None:
        self._before = logprobs
        self._rounding = max(self._rounding, float((logprobs[0] - logprobs[1]).var()))


def _compute_pearson(theirs: Tensor, ours: Tensor) -> float:
    """Return Pearson's correlation, or 0 if one of the two is constant."""
    theirs, ours = theirs - theirs.mean(), ours - ours.mean()
    size = float(theirs.norm() * ours.norm())
    return float(theirs @ ours) / size if size > 0 else 0.0


def _rank_changes(moves: Tensor) -> Tensor:
    """Return the rank of each change. Equal changes share their mean rank."""
    _, group, counts = moves.unique(return_inverse=True, return_counts=True)  # type: ignore[no-untyped-call]
    ranks: Tensor = (counts.cumsum(0) - (counts - 1) / 2)[group].double()
    return ranks
