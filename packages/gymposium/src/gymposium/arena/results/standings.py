"""Boards as plain data, from ratings and what belongs to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

from gymposium.arena.ratings.bootstrap import interval
from gymposium.arena.ratings.cycles import cycles
from gymposium.arena.ratings.fit import Ratings, anchor_of
from gymposium.arena.ratings.payoff import Payoff
from gymposium.arena.ratings.ranks import RankedPlace, places, surely_above
from gymposium.arena.ratings.returns import GameReturns, Means
from gymposium.arena.results.model import Interval, Mean, Pairing, Place, RatedBoard, Standing

_Row = TypeVar("_Row", Mean, Standing)


def board_of(ratings: Ratings, payoff: Payoff, matches: Mapping[str, int], means: Means | None = None) -> RatedBoard:
    """A board of rivals. `matches` says how many each of them has played."""
    low, high = interval(ratings.samples)
    ranked = places(ratings.values.tolist(), surely_above(ratings.samples))
    standings = []
    for i, player in enumerate(ratings.players):
        bound = ratings.bounds[i]
        standings.append(
            Standing(
                player=player,
                matches=matches[player],
                bound=bound,
                rating=_figure(ratings.values[i], 1),
                low=None if bound == "at most" else _figure(low[i], 1),
                high=None if bound == "at least" else _figure(high[i], 1),
                place=_place(ranked[i]),
                returned=None if means is None else _estimate(means.values[i], means.low[i], means.high[i]),
            )
        )
    n = range(len(ratings.players))
    return RatedBoard(
        standings=_in_order(standings),
        players=list(ratings.players),
        payoff=[[_pairing(payoff, one, other) for other in n] for one in n],
        cycles=[[ratings.players[i] for i in ring] for ring in cycles(payoff.beats)],
    )


def means_of_players(returns: GameReturns, means: Means, matches: Mapping[str, int]) -> list[Mean]:
    """The players of a game without winners, best first."""
    anchor = returns.players.index(anchor_of(returns.players))
    ranked = places(means.values.tolist(), surely_above(means.samples))
    over = means.samples - means.samples[:, [anchor]]
    low, high = interval(over)
    found = []
    for i, player in enumerate(returns.players):
        found.append(
            Mean(
                player=player,
                matches=matches[player],
                returned=_estimate(means.values[i], means.low[i], means.high[i]),
                over_anchor=_estimate(means.values[i] - means.values[anchor], low[i], high[i]),
                place=_place(ranked[i]),
            )
        )
    return _in_order(found)


def table_of(returns: GameReturns) -> list[list[float | None]]:
    """The mean return of each player in matches with each other."""
    return [[_figure(value, 4) for value in row] for row in returns.table()]


def _in_order(rows: Sequence[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: math.inf if row.place is None else row.place.rank)


def _pairing(payoff: Payoff, one: int, other: int) -> Pairing | None:
    if math.isnan(payoff.share[one, other]):
        return None
    return Pairing(
        share=_rounded(payoff.share[one, other], 4),
        low=_rounded(payoff.low[one, other], 4),
        high=_rounded(payoff.high[one, other], 4),
        wins=int(payoff.wins[one, other]),
        draws=int(payoff.draws[one, other]),
        losses=int(payoff.losses[one, other]),
    )


def _place(ranked: RankedPlace | None) -> Place | None:
    if ranked is None:
        return None
    return Place(rank=ranked.rank, best=ranked.best, worst=ranked.worst, group=ranked.group)


def _estimate(value: float, low: float, high: float) -> Interval | None:
    if math.isnan(value):
        return None
    return Interval(value=_rounded(value, 4), low=_figure(low, 4), high=_figure(high, 4))


def _figure(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else _rounded(value, digits)


def _rounded(value: float, digits: int) -> float:
    return round(float(value), digits) + 0.0  # no -0.0
