"""Mean returns, which compare players in games without a winner: solo, cooperative and general-sum games.

Players that met the same deals are compared on them: in each bootstrap sample a deal has the same weight for all
players (a paired bootstrap).

With few deals the bootstrap is overconfident. With five, its 95 % intervals cover 89 % of means of normal returns and
41 % of means of rare ones (`python -m benchmarks.ratings returns`). So below `FEWEST` deals, intervals are those of
`gymposium.records.scores.mean`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gymposium.records.scores import Bounds, Estimate, are_equal, margin_bounds, mean, ratio_by_deal
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import interval
from gymposium_arena.ratings.comparisons import Floats, index_outcomes
from gymposium_arena.ratings.ranks import FEWEST, Above, surely_above


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

    @property
    def played(self) -> NDArray[np.int_]:
        """Number of deals that each player played, shape (n)."""
        return np.asarray(np.count_nonzero(self.seats, axis=0))

    def table(self) -> Floats:
        """Return the row player's mean return in matches with the column's, shape (n, n); NaN if they have not met."""
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
    above: Above
    """Whether the row player is surely above the column player, shape (n, n)."""
    returns: GameReturns
    bounds: Bounds
    """The least and greatest return of the game."""

    def margin(self, one: int, other: int) -> Estimate:
        """Return the mean of player `one` minus that of `other`, with its interval."""
        if one == other:
            return Estimate(0.0, 0.0, 0.0)
        margin = _estimate(
            _margins(self.returns, one, other),
            self.samples[:, one] - self.samples[:, other],
            int(self.returns.played[[one, other]].min()),
            margin_bounds(self.bounds),
        )
        return replace(margin, value=float(self.values[one] - self.values[other]))


def sum_returns(outcomes: Iterable[MatchOutcome], players: Sequence[str]) -> GameReturns:
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


def compute_means(returns: GameReturns, weights: Floats, bounds: Bounds) -> Means:
    """Return mean returns with their intervals. `weights` holds the deal weights, shape (samples, deals); `bounds` are
    the game's least and greatest return."""
    values = _quotient(returns.paid.sum(axis=0), returns.seats.sum(axis=0))
    samples = _quotient(weights @ returns.paid, weights @ returns.seats)
    samples[:, returns.played < 2] = math.nan
    found = [
        _estimate(_own(returns, i), samples[:, i], int(returns.played[i]), bounds) for i in range(len(returns.players))
    ]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    return Means(values, low, high, samples, _above(returns, samples, bounds), returns, bounds)


def _estimate(by_deal: Sequence[float], samples: Floats, deals: int, bounds: Bounds) -> Estimate:
    """Return the mean of the deals with its interval: by bootstrap, or by `scores.mean` if there are too few deals or
    resampling shows no spread."""
    estimate = mean(by_deal, bounds)
    if deals < FEWEST or are_equal(by_deal, bounds):
        return estimate
    low, high = interval(samples)
    return replace(estimate, low=float(low), high=float(high))


def _above(returns: GameReturns, samples: Floats, bounds: Bounds) -> Above:
    """Return where the bootstrap and the interval of `scores.mean` agree. The bootstrap alone is overconfident for rare
    returns: if none of the margins is negative, none of its samples is."""
    above = surely_above(samples, returns.played)
    for one, other in np.argwhere(above):
        above[one, other] = mean(_margins(returns, one, other), margin_bounds(bounds)).low > 0.0
    return above


def _own(returns: GameReturns, player: int) -> list[float]:
    """Return one value for each deal that the player played; their mean is the player's mean return."""
    played = returns.seats[:, player] > 0.0
    return _by_deal(returns, player, played) if played.any() else [math.nan]


def _margins(returns: GameReturns, one: int, other: int) -> list[float]:
    """Return one value for each deal that either played; their mean is the difference of the mean returns. If both
    played every deal in the same number of seats, these are the differences on each deal."""
    played = np.asarray(returns.seats[:, [one, other]].any(axis=1))
    pairs = zip(_by_deal(returns, one, played), _by_deal(returns, other, played), strict=True)
    return [mine - theirs for mine, theirs in pairs]


def _by_deal(returns: GameReturns, player: int, deals: NDArray[np.bool_]) -> list[float]:
    return ratio_by_deal(returns.paid[deals, player].tolist(), returns.seats[deals, player].tolist())


def _quotient(paid: Floats, seats: Floats) -> Floats:
    return np.divide(paid, seats, out=np.full_like(paid, math.nan), where=seats > 0.0)
