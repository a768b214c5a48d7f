"""Mean returns: what solo, cooperative and general-sum games are measured by, for there is no winner to count.

Players that met the same deals are compared on them: a deal's weight in a sample is the same for all (a paired
bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gymposium.arena.outcomes import MatchOutcome
from gymposium.arena.ratings.bootstrap import interval
from gymposium.arena.ratings.comparisons import Floats
from gymposium.scores import Bounds, constant_interval


@dataclass(frozen=True, slots=True)
class GameReturns:
    """What n players were paid on some deals."""

    players: tuple[str, ...]
    deals: tuple[str, ...]
    paid: Floats
    """Shape (deals, n): over all seats and matches."""
    seats: Floats
    """Shape (deals, n): how many seats that were."""
    paid_with: Floats
    """Shape (n, n): what the row's player was paid in matches with the column's."""
    seats_with: Floats
    """Shape (n, n): in how many seats."""

    def table(self) -> Floats:
        """Shape (n, n): the row's mean return in matches with the column's; NaN where they have not met."""
        return _quotient(self.paid_with, self.seats_with)


@dataclass(frozen=True, slots=True)
class Means:
    """Mean returns of n players. NaN where there is nothing to say; samples and intervals also from one deal."""

    values: Floats
    low: Floats
    high: Floats
    samples: Floats
    """Shape (samples, n)."""


def returns_of(outcomes: Iterable[MatchOutcome], players: Sequence[str]) -> GameReturns:
    """The outcomes of one game, for `players` in this order."""
    told = list(outcomes)
    deals = tuple(sorted({outcome.group for outcome in told}))
    place, deal_of = {name: i for i, name in enumerate(players)}, {deal: d for d, deal in enumerate(deals)}
    n = len(players)
    paid, seats = np.zeros((len(deals), n)), np.zeros((len(deals), n))
    paid_with, seats_with = np.zeros((n, n)), np.zeros((n, n))
    for outcome in told:
        deal, sitting = deal_of[outcome.group], [place[name] for name in outcome.players]
        for seat, (one, utility) in enumerate(zip(sitting, outcome.utilities, strict=True)):
            paid[deal, one] += utility
            seats[deal, one] += 1.0
            for other in set(sitting[:seat] + sitting[seat + 1 :]):
                paid_with[one, other] += utility
                seats_with[one, other] += 1.0
    return GameReturns(tuple(players), deals, paid, seats, paid_with, seats_with)


def means_of(returns: GameReturns, weights: Floats, bounds: Bounds) -> Means:
    """Mean returns with intervals, in a game that pays within `bounds`. `weights` of deals has the shape (samples,
    deals)."""
    values = _quotient(returns.paid.sum(axis=0), returns.seats.sum(axis=0))
    samples = _quotient(weights @ returns.paid, weights @ returns.seats)
    deals = np.count_nonzero(returns.seats, axis=0)
    samples[:, deals < 2] = math.nan
    low, high = interval(samples)
    for i in np.flatnonzero(np.ptp(samples, axis=0) == 0.0):  # no two samples of equal payments differ
        low[i], high[i] = constant_interval(values[i], int(deals[i]), bounds)
    return Means(values, low, high, samples)


def _quotient(paid: Floats, seats: Floats) -> Floats:
    return np.divide(paid, seats, out=np.full_like(paid, math.nan), where=seats > 0.0)
