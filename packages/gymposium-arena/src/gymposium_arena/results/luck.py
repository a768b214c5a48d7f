"""Compute luck-corrected returns by pairing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from gymposium.analysis.exact import value
from gymposium_arena.luck import LuckCorrection
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.luck import correct_for_luck
from gymposium_arena.ratings.returns import Means
from gymposium_arena.results.model import Interval, LuckResult, PairReturn, round_figure
from gymposium_arena.results.standings import make_interval

MeansFunction = Callable[[Sequence[MatchOutcome], Sequence[str]], Means]
"""Computes players' mean returns with their intervals."""


def make_luck_result(
    luck: LuckCorrection, outcomes: Sequence[MatchOutcome], players: Sequence[str], compute_means: MeansFunction
) -> LuckResult:
    """Return the luck-corrected returns of each pairing of `players`."""
    return LuckResult(
        table=luck.table.name,
        digest=luck.table.digest,
        known=[player for player in players if player in luck.policies],
        pairs=[row for pair in combinations(players, 2) for row in _compare_pair(luck, outcomes, pair, compute_means)],
    )


def _compare_pair(
    luck: LuckCorrection, outcomes: Sequence[MatchOutcome], pair: tuple[str, str], compute_means: MeansFunction
) -> Iterator[PairReturn]:
    met = [one for one in outcomes if set(one.players) == set(pair)]
    if not met:
        return
    both = compute_means(met, pair), compute_means(correct_for_luck(met), pair)
    plain, corrected = (make_interval(one.values[0], one.low[0], one.high[0]) for one in both)
    assert plain is not None, "they have met"
    assert corrected is not None, "they have met"
    player, opponent = pair
    exact = player in luck.policies and opponent in luck.policies
    if exact:
        found = value(luck.policies[player], luck.policies[opponent]).mean.mean_return
        corrected = Interval(value=round_figure(found, 4), low=None, high=None)
    yield PairReturn(player=player, opponent=opponent, matches=len(met), plain=plain, corrected=corrected, exact=exact)
