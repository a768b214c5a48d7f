"""Corrects the returns of a board's matches for luck, in games with chance that are small enough."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from gymposium.analysis.exact import Policy, TooLarge, check_small, tabulate
from gymposium.analysis.exact.corrected import Corrector
from gymposium.analysis.exact.fixed_table import FixedTable, fixed_table
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_core_player
from gymposium.players.protocol import DistributionPlayer
from gymposium.records import Record


class Luck:
    """The luck correction for one game's matches."""

    def __init__(self, game: Game, players: Collection[str]) -> None:
        """Raise `TooLarge` if the game is not corrected. Computing the policies of the built-in players takes seconds;
        nothing has to be loaded for them."""
        check_small(game)
        if not game.spec.chance:
            raise TooLarge(f"{game.name} has no chance events, so there is no luck to correct for.")
        self.table: FixedTable = fixed_table(game)
        self._corrector = Corrector(self.table.policy)
        found = {player: _find_policy(game, player) for player in players}
        self.known: Mapping[str, Policy] = {player: policy for player, policy in found.items() if policy is not None}
        """The players whose policies are known."""

    def corrected(self, record: Record) -> tuple[float, ...] | None:
        """Return the corrected utilities of a finished match; None if it began with random moves. Raises `BadRecord` if
        the record is not a match of the game, or if a known player cannot have played it."""
        if record.opening:
            return None
        first, second = record.players
        known = (self.known.get(first), self.known.get(second))
        return self._corrector.corrected(record.events, record.utilities, known, record.ending.seat)


def find_luck(game: Game, players: Collection[str]) -> Luck | None:
    """Return the correction for a game's matches; None if it has none."""
    try:
        return Luck(game, players)
    except TooLarge:
        return None


@lru_cache(maxsize=256)
def _find_policy(game: Game, name: str) -> Policy | None:
    """Return the policy of a built-in player that knows its move probabilities; None for any other."""
    player = make_core_player(name)
    if player is None or not isinstance(player, DistributionPlayer):
        return None
    policy = tabulate(game, player)
    return None if policy.estimated else policy
