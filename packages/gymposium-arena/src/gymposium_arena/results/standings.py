"""Ratings, pay-off matrices and mean returns as plain data for `results.json`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.bootstrap import interval
from gymposium_arena.ratings.comparisons import Floats
from gymposium_arena.ratings.cycles import cycles
from gymposium_arena.ratings.evidence import Evidence
from gymposium_arena.ratings.fit import Ratings
from gymposium_arena.ratings.flip import find_flip
from gymposium_arena.ratings.payoff import Payoff
from gymposium_arena.ratings.ranks import Place, places, surely_above
from gymposium_arena.ratings.returns import GameReturns, Means
from gymposium_arena.results.model import FlipDistance, Interval, Mean, Pairing, RatedBoard, Standing, rounded

_Row = TypeVar("_Row", Mean, Standing)


def make_board(
    ratings: Ratings,
    payoff: Payoff,
    matches: Mapping[str, int],
    deals: int,
    played: NDArray[np.int_],
    evidence: Callable[[Floats], Evidence],
    means: Means | None = None,
    corrected: Means | None = None,
    by: Means | None = None,
) -> RatedBoard:
    """Return the board of a zero-sum game, or the joint board. `matches` and `played` hold each player's
    number of matches and of deals. `evidence` returns the evidence with these deal weights, shape
    (samples, deals). `corrected` are the `means` corrected for luck. The players are ordered by the means `by`, or
    (None) by their ratings."""
    low, high = interval(ratings.samples)
    order = ratings if by is None else by
    above = surely_above(ratings.samples, played) if by is None else by.above
    ranked = places(order.values.tolist(), above)
    standings = [
        Standing(
            player=player,
            matches=matches[player],
            bound=bound,
            rating=figure(ratings.values[i], 1),
            low=None if bound == "at most" else figure(low[i], 1),
            high=None if bound == "at least" else figure(high[i], 1),
            place=ranked[i],
            returned=None if means is None else _of(means, i),
            corrected=None if corrected is None else _of(corrected, i),
        )
        for i, (player, bound) in enumerate(zip(ratings.players, ratings.bounds, strict=True))
    ]
    n = range(len(ratings.players))
    return RatedBoard(
        standings=_in_order(standings),
        players=list(ratings.players),
        payoff=[[_pairing(payoff, one, other) for other in n] for one in n],
        cycles=[[ratings.players[i] for i in cycle] for cycle in cycles(payoff.beats)],
        flip=_flip(ratings, ranked, deals, evidence) if by is None else None,
    )


def _of(means: Means, i: int) -> Interval | None:
    return estimate(means.values[i], means.low[i], means.high[i])


def _flip(
    ratings: Ratings, ranked: Sequence[Place | None], deals: int, evidence: Callable[[Floats], Evidence]
) -> FlipDistance | None:
    first, second = (next((p for p in ranked if p is not None and p.rank == rank), None) for rank in (1, 2))
    if first is None or second is None or set(first.group) & set(second.group):
        return None
    found = find_flip(ratings, evidence, deals)
    return None if found is None else FlipDistance(deals=len(found.deals), of=deals, first=found.first)


def means_of_players(returns: GameReturns, means: Means, matches: Mapping[str, int], anchor: str) -> list[Mean]:
    """Return the players' mean returns in a game without winners, from best to worst. `anchor` is the board's; if it
    did not play this game, no player is compared with it."""
    ranked = places(means.values.tolist(), means.above)
    over_anchor = _over(returns.players, means, anchor)
    rows = [
        Mean(
            player=player,
            matches=matches[player],
            returned=estimate(means.values[i], means.low[i], means.high[i]),
            over_anchor=over_anchor[i],
            place=ranked[i],
        )
        for i, player in enumerate(returns.players)
    ]
    return _in_order(rows)


def _over(players: Sequence[str], means: Means, anchor: str) -> list[Interval | None]:
    """Return each player's mean return minus the anchor's, None if the anchor is not among the players."""
    if anchor not in players:
        return [None] * len(players)
    zero = players.index(anchor)
    margins = [means.margin(i, zero) for i in range(len(players))]
    return [estimate(margin.value, margin.low, margin.high) for margin in margins]


def table_of(returns: GameReturns) -> list[list[float | None]]:
    """Return the mean return of each player in matches with each other player."""
    return [[figure(value, 4) for value in row] for row in returns.table()]


def _in_order(rows: Sequence[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: math.inf if row.place is None else row.place.rank)


def _pairing(payoff: Payoff, one: int, other: int) -> Pairing | None:
    if math.isnan(payoff.share[one, other]):
        return None
    return Pairing(
        share=rounded(payoff.share[one, other], 4),
        low=rounded(payoff.low[one, other], 4),
        high=rounded(payoff.high[one, other], 4),
        wins=int(payoff.wins[one, other]),
        draws=int(payoff.draws[one, other]),
        losses=int(payoff.losses[one, other]),
    )


def estimate(value: float, low: float, high: float) -> Interval | None:
    """Return a stored mean with its interval; None for NaN."""
    if math.isnan(value):
        return None
    return Interval(value=rounded(value, 4), low=figure(low, 4), high=figure(high, 4))


def figure(value: float, digits: int) -> float | None:
    """Return a figure rounded for storage; None for NaN."""
    return None if math.isnan(value) else rounded(value, digits)
