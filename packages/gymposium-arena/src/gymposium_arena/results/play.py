"""Ratings that separate playing badly from failing to reply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from gymposium_arena.failing import GameDecisions
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import interval
from gymposium_arena.ratings.comparisons import Floats, compare
from gymposium_arena.ratings.completed import MOST_FAILING, completed, effective
from gymposium_arena.ratings.evidence import from_game
from gymposium_arena.ratings.fit import rate
from gymposium_arena.ratings.returns import compute_means, sum_returns
from gymposium_arena.results.model import Interval, PlayResult, PlayStanding, rounded
from gymposium_arena.results.standings import estimate, figure


def play_result(
    decisions: GameDecisions,
    outcomes: Sequence[MatchOutcome],
    players: Sequence[str],
    order: Sequence[str],
    drawn: Callable[[int, float], Floats],
    prior: np.random.Generator,
    get_weights: Callable[[Sequence[str]], Floats],
) -> PlayResult:
    """Return the ratings of play alone, with the players in this `order`.

    `drawn` returns bootstrap weights for a number of deals and an effective number, `get_weights` those of the
    deals for shares of matches, and `prior` draws the prior. A player whose replies surely fail in some decisions is
    not rated, and its matches do not count."""
    rows = decisions.count_decisions(outcomes, players)
    found = completed(rows, len(outcomes), len(players))
    hopeless = {player for player, most in zip(players, found.failing, strict=True) if most > MOST_FAILING}
    counted = np.array([hopeless.isdisjoint(one.players) for one in outcomes])
    weights = np.where(counted, found.weights, 0.0)
    comparisons = compare(outcomes, players, weights)
    samples = drawn(len(comparisons.deals), effective(_by_deal(outcomes, weights)))
    ratings = rate(from_game(comparisons, samples), prior)
    low, high = interval(ratings.samples)
    failed: defaultdict[int, set[int]] = defaultdict(set)
    for match, player in zip(rows.match[rows.failed], rows.player[rows.failed], strict=True):
        failed[int(player)].add(int(match))
    made = {
        player: PlayStanding(
            player=player,
            bound=ratings.bounds[i],
            rating=figure(ratings.values[i], 1),
            low=None if ratings.bounds[i] == "at most" else figure(low[i], 1),
            high=None if ratings.bounds[i] == "at least" else figure(high[i], 1),
            effective=rounded(effective([w for w, one in zip(weights, outcomes) if player in one.players]), 1),
            failing=rounded(found.failing[i], 4),
            reliability=_reliability(outcomes, player, failed[i], get_weights),
        )
        for i, player in enumerate(players)
    }
    return PlayResult(players=[made[player] for player in order], reviewed=decisions.reviewed)


def _reliability(
    outcomes: Sequence[MatchOutcome],
    player: str,
    failed: Collection[int],
    get_weights: Callable[[Sequence[str]], Floats],
) -> Interval:
    """Return the share of a player's matches without a failed reply of its own; `failed` holds the others, by index."""
    own = [
        replace(one, players=(player,), utilities=(0.0 if i in failed else 1.0,))
        for i, one in enumerate(outcomes)
        if player in one.players
    ]
    returns = sum_returns(own, [player])
    means = compute_means(returns, get_weights(returns.deals), (0.0, 1.0))
    found = estimate(means.values[0], means.low[0], means.high[0])
    assert found is not None, "it has played"
    return found


def _by_deal(outcomes: Sequence[MatchOutcome], weights: Floats) -> list[float]:
    """Return the sum of each deal's weights."""
    sums: defaultdict[str, float] = defaultdict(float)
    for one, weight in zip(outcomes, weights, strict=True):
        sums[one.group] += float(weight)
    return [*sums.values()]
