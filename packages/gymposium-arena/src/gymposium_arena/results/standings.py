"""Convert ratings, pay-off matrices and mean returns to the models of `results.json`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.comparisons import Floats
from gymposium_arena.ratings.evidence import Evidence
from gymposium_arena.ratings.fit import Ratings
from gymposium_arena.ratings.flip import find_flip
from gymposium_arena.ratings.payoff import Payoff, find_cycles
from gymposium_arena.ratings.ranks import Place, assign_places, find_surely_above
from gymposium_arena.ratings.returns import GameReturns, Means
from gymposium_arena.results.model import (
    FlipDistance,
    Interval,
    Mean,
    Pairing,
    RatedBoard,
    Standing,
    round_figure,
    round_known,
)

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
    """Return the board of a zero-sum game, or the joint board.

    `matches` and `played` hold each player's numbers of matches and deals. `evidence` maps deal weights, shape
    (samples, deals), to evidence. `corrected` holds the luck-corrected `means`. Players are ordered by the means in
    `by`, or by rating if `by` is None."""
    low, high = ratings.compute_ends()
    order = ratings if by is None else by
    above = find_surely_above(ratings.samples, played) if by is None else by.above
    ranked = assign_places(order.values.tolist(), above)
    standings = [
        Standing(
            player=player,
            matches=matches[player],
            bound=bound,
            rating=round_known(ratings.values[i], 1),
            low=round_known(low[i], 1),
            high=round_known(high[i], 1),
            place=ranked[i],
            returned=None if means is None else _get_mean(means, i),
            corrected=None if corrected is None else _get_mean(corrected, i),
        )
        for i, (player, bound) in enumerate(zip(ratings.players, ratings.bounds, strict=True))
    ]
    n = range(len(ratings.players))
    return RatedBoard(
        standings=_sort_by_rank(standings),
        players=list(ratings.players),
        payoff=[[_make_pairing(payoff, one, other) for other in n] for one in n],
        cycles=[[ratings.players[i] for i in cycle] for cycle in find_cycles(payoff.beats)],
        flip=_find_flip_distance(ratings, ranked, deals, evidence) if by is None else None,
    )


def _get_mean(means: Means, i: int) -> Interval | None:
    return make_interval(means.values[i], means.low[i], means.high[i])


def _find_flip_distance(
    ratings: Ratings, ranked: Sequence[Place | None], deals: int, evidence: Callable[[Floats], Evidence]
) -> FlipDistance | None:
    first, second = (next((p for p in ranked if p is not None and p.rank == rank), None) for rank in (1, 2))
    if first is None or second is None or set(first.group) & set(second.group):
        return None
    found = find_flip(ratings, evidence, deals)
    return None if found is None else FlipDistance(deals=len(found.deals), of=deals, first=found.first)


def make_means(returns: GameReturns, means: Means, matches: Mapping[str, int], anchor: str) -> list[Mean]:
    """Return mean returns in a game without winners, from best to worst, compared with `anchor` if it has played."""
    ranked = assign_places(means.values.tolist(), means.above)
    over_anchor = _compare_with_anchor(returns.players, means, anchor)
    rows = [
        Mean(
            player=player,
            matches=matches[player],
            returned=make_interval(means.values[i], means.low[i], means.high[i]),
            over_anchor=over_anchor[i],
            place=ranked[i],
        )
        for i, player in enumerate(returns.players)
    ]
    return _sort_by_rank(rows)


def _compare_with_anchor(players: Sequence[str], means: Means, anchor: str) -> list[Interval | None]:
    """Return each player's mean return minus the anchor's; None if the anchor has not played."""
    if anchor not in players:
        return [None] * len(players)
    zero = players.index(anchor)
    margins = [means.margin(i, zero) for i in range(len(players))]
    return [make_interval(margin.value, margin.low, margin.high) for margin in margins]


def make_returns_table(returns: GameReturns) -> list[list[float | None]]:
    """Return each player's mean return in matches with each other player, as rows."""
    return [[round_known(value, 4) for value in row] for row in returns.pairing_means()]


def _sort_by_rank(rows: Sequence[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: math.inf if row.place is None else row.place.rank)


def _make_pairing(payoff: Payoff, one: int, other: int) -> Pairing | None:
    if math.isnan(payoff.share[one, other]):
        return None
    return Pairing(
        share=round_figure(payoff.share[one, other], 4),
        low=round_figure(payoff.low[one, other], 4),
        high=round_figure(payoff.high[one, other], 4),
        wins=int(payoff.wins[one, other]),
        draws=int(payoff.draws[one, other]),
        losses=int(payoff.losses[one, other]),
    )


def make_interval(value: float, low: float, high: float) -> Interval | None:
    """Round a mean and its interval for storage; None for NaN."""
    if math.isnan(value):
        return None
    return Interval(value=round_figure(value, 4), low=round_known(low, 4), high=round_known(high, 4))
