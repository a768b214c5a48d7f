"""Compute ratings that separate playing badly from failing to reply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from gymposium_arena.failing import GameDecisions
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.comparisons import Floats, compare_players
from gymposium_arena.ratings.completed import (
    MAX_FAILURE_PROBABILITY,
    compute_effective_number,
    weight_completed_matches,
)
from gymposium_arena.ratings.evidence import sum_game
from gymposium_arena.ratings.fit import rate
from gymposium_arena.ratings.returns import compute_means, sum_returns
from gymposium_arena.results.model import Interval, PlayResult, PlayStanding, round_figure, round_known
from gymposium_arena.results.standings import make_interval


def make_play_result(
    decisions: GameDecisions,
    outcomes: Sequence[MatchOutcome],
    players: Sequence[str],
    order: Sequence[str],
    draw_weights: Callable[[int, float], Floats],
    prior: np.random.Generator,
    get_weights: Callable[[Sequence[str]], Floats],
) -> PlayResult:
    """Return ratings of play alone, with players in this `order`.

    `draw_weights` draws deal weights for a number of deals and an effective number; `get_weights` draws those for
    reliability. `prior` is the prior's generator. A player whose replies almost always fail in some decision is not
    rated, and its matches do not count."""
    rows = decisions.count_decisions(outcomes, players)
    found = weight_completed_matches(rows, len(outcomes), len(players))
    hopeless = {
        player for player, most in zip(players, found.max_failure, strict=True) if most > MAX_FAILURE_PROBABILITY
    }
    counted = np.array([hopeless.isdisjoint(one.players) for one in outcomes])
    weights = np.where(counted, found.weights, 0.0)
    comparisons = compare_players(outcomes, players, weights)
    samples = draw_weights(len(comparisons.deals), compute_effective_number(_sum_by_deal(outcomes, weights)))
    ratings = rate(sum_game(comparisons, samples), prior)
    low, high = ratings.compute_ends()
    failed: defaultdict[int, set[int]] = defaultdict(set)
    for match, player in zip(rows.match[rows.failed], rows.player[rows.failed], strict=True):
        failed[int(player)].add(int(match))
    standings = {
        player: PlayStanding(
            player=player,
            bound=ratings.bounds[i],
            rating=round_known(ratings.values[i], 1),
            low=round_known(low[i], 1),
            high=round_known(high[i], 1),
            effective=round_figure(
                compute_effective_number([w for w, one in zip(weights, outcomes) if player in one.players]), 1
            ),
            failing=round_figure(found.max_failure[i], 4),
            reliability=_estimate_reliability(outcomes, player, failed[i], get_weights),
        )
        for i, player in enumerate(players)
    }
    return PlayResult(players=[standings[player] for player in order], reviewed=decisions.reviewed)


def _estimate_reliability(
    outcomes: Sequence[MatchOutcome],
    player: str,
    failed: Collection[int],
    get_weights: Callable[[Sequence[str]], Floats],
) -> Interval:
    """Return the share of a player's matches without a failed reply; `failed` holds the indices of the others."""
    own = [
        replace(one, players=(player,), utilities=(0.0 if i in failed else 1.0,))
        for i, one in enumerate(outcomes)
        if player in one.players
    ]
    returns = sum_returns(own, [player])
    means = compute_means(returns, get_weights(returns.deals), (0.0, 1.0))
    found = make_interval(means.values[0], means.low[0], means.high[0])
    assert found is not None, "it has played"
    return found


def _sum_by_deal(outcomes: Sequence[MatchOutcome], weights: Floats) -> list[float]:
    """Return the sum of weights per deal."""
    sums: defaultdict[str, float] = defaultdict(float)
    for one, weight in zip(outcomes, weights, strict=True):
        sums[one.group] += float(weight)
    return [*sums.values()]
