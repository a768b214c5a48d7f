"""Returns corrected for luck, pairing by pairing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from gymposium.analysis.exact import value
from gymposium_arena.luck import Luck
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.luck import less_luck
from gymposium_arena.ratings.returns import Means
from gymposium_arena.results.model import Interval, LuckResult, PairReturn, rounded
from gymposium_arena.results.standings import estimate

MeansOf = Callable[[Sequence[MatchOutcome], Sequence[str]], Means]
"""Computes players' mean returns with their intervals."""


def luck_result(
    luck: Luck, outcomes: Sequence[MatchOutcome], players: Sequence[str], compute_means: MeansOf
) -> LuckResult:
    """Return the corrected returns of each pairing of `players`."""
    return LuckResult(
        table=luck.table.name,
        digest=luck.table.digest,
        known=[player for player in players if player in luck.known],
        pairs=[row for pair in combinations(players, 2) for row in _pair(luck, outcomes, pair, compute_means)],
    )


def _pair(
    luck: Luck, outcomes: Sequence[MatchOutcome], pair: tuple[str, str], compute_means: MeansOf
) -> Iterator[PairReturn]:
    met = [one for one in outcomes if set(one.players) == set(pair)]
    if not met:
        return
    both = compute_means(met, pair), compute_means(less_luck(met), pair)
    plain, corrected = (estimate(one.values[0], one.low[0], one.high[0]) for one in both)
    assert plain is not None, "they have met"
    assert corrected is not None, "they have met"
    player, opponent = pair
    exact = player in luck.known and opponent in luck.known
    if exact:
        found = value(luck.known[player], luck.known[opponent]).mean.mean_return
        corrected = Interval(value=rounded(found, 4), low=None, high=None)
    yield PairReturn(player=player, opponent=opponent, matches=len(met), plain=plain, corrected=corrected, exact=exact)
