"""Compare players by mean return in games without a winner: solo, cooperative and general-sum games.

In each bootstrap sample a deal has the same weight for all players (a paired bootstrap), so players are compared on
the deals that they share.

With few deals the bootstrap is overconfident. With five deals, its 95% intervals cover 89% of means for normal
returns, and 41% for rare ones (`python -m benchmarks.ratings returns`). With fewer than `FEWEST` deals, intervals
therefore come from `gymposium.records.scores.estimate_mean`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gymposium.records.scores import Bounds, Estimate, are_equal, compute_deal_ratios, estimate_mean, get_margin_bounds
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import compute_interval
from gymposium_arena.ratings.comparisons import Floats, index_outcomes
from gymposium_arena.ratings.ranks import FEWEST, Above, find_surely_above


@dataclass(frozen=True, slots=True)
class GameReturns:
    """Returns of n players in one game, summed by deal and by pairing."""

    players: tuple[str, ...]
    deals: tuple[str, ...]
    paid: Floats
    """Sum of returns over all seats and matches, shape (deals, n)."""
    seats: Floats
    """Number of seats summed in `paid`, shape (deals, n)."""
    paid_with: Floats
    """Sum of the row player's returns in matches with the column's, shape (n, n)."""
    seats_with: Floats
    """Number of seats summed in `paid_with`, shape (n, n)."""

    @property
    def played(self) -> NDArray[np.int_]:
        """Number of deals per player, shape (n)."""
        return np.asarray(np.count_nonzero(self.seats, axis=0))

    def pairing_means(self) -> Floats:
        """Return the row player's mean return in matches with the column's, shape (n, n); NaN if they have not met."""
        return _divide(self.paid_with, self.seats_with)


@dataclass(frozen=True, slots=True)
class Means:
    """Mean returns of n players. A value is NaN without matches; its samples are NaN with fewer than two deals."""

    values: Floats
    low: Floats
    high: Floats
    samples: Floats
    """Bootstrap samples of the values, shape (samples, n)."""
    above: Above
    """Whether the row player is surely above the column player, shape (n, n)."""
    returns: GameReturns
    bounds: Bounds
    """The game's lowest and highest possible returns."""

    def margin(self, one: int, other: int) -> Estimate:
        """Return the difference of two players' means, by index, with its interval."""
        if one == other:
            return Estimate(0.0, 0.0, 0.0)
        margin = _estimate_mean(
            _list_margins_by_deal(self.returns, one, other),
            self.samples[:, one] - self.samples[:, other],
            int(self.returns.played[[one, other]].min()),
            get_margin_bounds(self.bounds),
        )
        return replace(margin, value=float(self.values[one] - self.values[other]))


def sum_returns(outcomes: Iterable[MatchOutcome], players: Sequence[str]) -> GameReturns:
    """Sum the returns in one game's outcomes, with players in this order."""
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
    """Return mean returns with their intervals. `weights` holds deal weights, shape (samples, deals)."""
    values = _divide(returns.paid.sum(axis=0), returns.seats.sum(axis=0))
    samples = _divide(weights @ returns.paid, weights @ returns.seats)
    samples[:, returns.played < 2] = math.nan
    found = [
        _estimate_mean(_list_means_by_deal(returns, i), samples[:, i], int(returns.played[i]), bounds)
        for i in range(len(returns.players))
    ]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    return Means(values, low, high, samples, _find_above(returns, samples, bounds), returns, bounds)


def _estimate_mean(by_deal: Sequence[float], samples: Floats, deals: int, bounds: Bounds) -> Estimate:
    """Return the mean over deals with its bootstrap interval, or that of `scores.mean` for few deals or equal
    returns."""
    estimate = estimate_mean(by_deal, bounds)
    if deals < FEWEST or are_equal(by_deal, bounds):
        return estimate
    low, high = compute_interval(samples)
    return replace(estimate, low=float(low), high=float(high))


def _find_above(returns: GameReturns, samples: Floats, bounds: Bounds) -> Above:
    """Return where both the bootstrap and `scores.mean` place the row player above the column player.

    The bootstrap alone is overconfident for rare returns: if no observed margin is negative, no sample is."""
    above = find_surely_above(samples, returns.played)
    for one, other in np.argwhere(above):
        above[one, other] = (
            estimate_mean(_list_margins_by_deal(returns, one, other), get_margin_bounds(bounds)).low > 0.0
        )
    return above


def _list_means_by_deal(returns: GameReturns, player: int) -> list[float]:
    """Return a value for each of the player's deals. The mean of these values is the player's mean return."""
    played = returns.seats[:, player] > 0.0
    return _divide_by_deal(returns, player, played) if played.any() else [math.nan]


def _list_margins_by_deal(returns: GameReturns, one: int, other: int) -> list[float]:
    """Return a value for each deal that either player played. The mean of these values is the difference of the mean
    returns.

    If both have the same number of seats in every deal, these are the differences by deal."""
    played = np.asarray(returns.seats[:, [one, other]].any(axis=1))
    pairs = zip(_divide_by_deal(returns, one, played), _divide_by_deal(returns, other, played), strict=True)
    return [mine - theirs for mine, theirs in pairs]


def _divide_by_deal(returns: GameReturns, player: int, deals: NDArray[np.bool_]) -> list[float]:
    return compute_deal_ratios(returns.paid[deals, player].tolist(), returns.seats[deals, player].tolist())


def _divide(paid: Floats, seats: Floats) -> Floats:
    return np.divide(paid, seats, out=np.full_like(paid, math.nan), where=seats > 0.0)
