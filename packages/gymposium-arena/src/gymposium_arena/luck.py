"""Correct the returns of a board's matches for luck, in small games of chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from gymposium.analysis.exact import Policy, TooLarge, check_small, compute_value, tabulate_policy
from gymposium.analysis.exact.corrected import LuckCorrector
from gymposium.analysis.exact.fixed_table import FixedTable, compute_fixed_table
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_core_player
from gymposium.players.protocol import DistributionPlayer
from gymposium.records import Record
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.luck import correct_for_luck
from gymposium_arena.ratings.returns import Means
from gymposium_arena.results.model import Interval, LuckResult, PairReturn, round_figure
from gymposium_arena.results.standings import make_interval


class LuckCorrection:
    """The luck correction for one game's matches."""

    def __init__(self, game: Game, players: Collection[str]) -> None:
        """Compute the policies of built-in players, which takes seconds. Raises `TooLarge` if the game is too large or
        has no chance."""
        check_small(game)
        if not game.spec.chance:
            raise TooLarge(
                f"{game.name} has no chance events, so there is no luck to correct for. Omit the correction."
            )
        self.table: FixedTable = compute_fixed_table(game)
        self._corrector = LuckCorrector(self.table.policy)
        found = {player: _find_policy(game, player) for player in players}
        self.policies: Mapping[str, Policy] = {player: policy for player, policy in found.items() if policy is not None}
        """The known policies by player."""

    def correct(self, record: Record) -> tuple[float, ...] | None:
        """Return the corrected utilities of a finished match; None for a match with a random opening.

        Raises `BadRecord` if the record belongs to another game, or contradicts a known policy."""
        if record.opening:
            return None
        first, second = record.players
        known = (self.policies.get(first), self.policies.get(second))
        return self._corrector.correct_returns(record.events, record.utilities, known, record.ending.seat)


def make_luck_correction(game: Game, players: Collection[str]) -> LuckCorrection | None:
    """Return a game's luck correction, or None if the game cannot be corrected."""
    try:
        return LuckCorrection(game, players)
    except TooLarge:
        return None


@lru_cache(maxsize=256)
def _find_policy(game: Game, name: str) -> Policy | None:
    """Return the policy of a built-in player with exact move probabilities, or None."""
    player = make_core_player(name)
    if player is None or not isinstance(player, DistributionPlayer):
        return None
    policy = tabulate_policy(game, player)
    return None if policy.estimated else policy


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
        found = compute_value(luck.policies[player], luck.policies[opponent]).mean.mean_return
        corrected = Interval(value=round_figure(found, 4), low=None, high=None)
    yield PairReturn(player=player, opponent=opponent, matches=len(met), plain=plain, corrected=corrected, exact=exact)
