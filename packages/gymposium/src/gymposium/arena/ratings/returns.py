"""Mean returns, by which players are compared in solo, cooperative and general-sum games, which have no winner.

Players that met the same deals are compared on them: in each bootstrap sample a deal has the same weight for all
players (a paired bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gymposium.arena.outcomes import MatchOutcome
from gymposium.arena.ratings.bootstrap import interval
from gymposium.arena.ratings.comparisons import Floats, index_outcomes
from gymposium.scores import Bounds, constant_interval


@dataclass(frozen=True, slots=True)
class GameReturns:
    """The returns of n players in one game, summed by deal and by pairing."""

    players: tuple[str, ...]
    deals: tuple[str, ...]
    paid: Floats
    """Sum of returns over all seats and matches, shape (deals, n)."""
    seats: Floats
    """Number of seats in that sum, shape (deals, n)."""
    paid_with: Floats
    """Sum of the row player's returns in matches with the column's, shape (n, n)."""
    seats_with: Floats
    """Number of seats in that sum, shape (n, n)."""

    def table(self) -> Floats:
        """The row player's mean return in matches with the column's, shape (n, n); NaN if they have not met."""
        return _quotient(self.paid_with, self.seats_with)


@dataclass(frozen=True, slots=True)
class Means:
    """Mean returns of n players. A value is NaN without matches; samples and interval are NaN with fewer than two
    deals."""

    values: Floats
    low: Floats
    high: Floats
    samples: Floats
    """Bootstrap samples of the values, shape (samples, n)."""


def returns_of(outcomes: Iterable[MatchOutcome], players: Sequence[str]) -> GameReturns:
    """Sum the returns in the outcomes of one game, for `players` in this order."""
    deals, indexed = index_outcomes(outcomes, players)
    n = len(players)
    paid, seats = np.zeros((len(deals), n)), np.zeros((len(deals), n))
    paid_with, seats_with = np.zeros((n, n)), np.zeros((n, n))
    for deal, seated, outcome in indexed:
        for seat, (player, utility) in enumerate(zip(seated, outcome.utilities, strict=True)):
            paid[deal, player] += utility
            seats[deal, player] += 1.0
            for other in set(seated[:seat] + seated[seat + 1 :]):
                paid_with[player, other] += utility
                seats_with[player, other] += 1.0
    return GameReturns(tuple(players), deals, paid, seats, paid_with, seats_with)


def means_of(returns: GameReturns, weights: Floats, bounds: Bounds) -> Means:
    """Mean returns with their intervals. `weights` holds the weights of the deals, shape (samples, deals); `bounds` are
    the least and the greatest return of the game."""
    values = _quotient(returns.paid.sum(axis=0), returns.seats.sum(axis=0))
    samples = _quotient(weights @ returns.paid, weights @ returns.seats)
    deals = np.count_nonzero(returns.seats, axis=0)
    samples[:, deals < 2] = math.nan
    low, high = interval(samples)
    for i in np.flatnonzero(np.ptp(samples, axis=0) == 0.0):  # resampling equal returns shows no spread
        low[i], high[i] = constant_interval(values[i], int(deals[i]), bounds)
    return Means(values, low, high, samples)


def _quotient(paid: Floats, seats: Floats) -> Floats:
    return np.divide(paid, seats, out=np.full_like(paid, math.nan), where=seats > 0.0)
