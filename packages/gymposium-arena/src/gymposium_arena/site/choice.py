"""Select the matches to show on pages, most informative first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from gymposium_arena.results.model import GameResult, Results
from gymposium_arena.site.played import PlayedLineup, PlayedMatch

LOSSES = 12
"""Number of worst losses per player that get a page."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A match that a player lost."""

    game: str
    match: PlayedMatch
    seat: int
    share: float
    """The player's expected share of points against these opponents."""

    @property
    def opponents(self) -> list[str]:
        """The players in all other seats."""
        return [player for seat, player in enumerate(self.match.players) if seat != self.seat]


class ExpectedPoints:
    """Expected shares of points by pairing, from the pay-off matrices."""

    def __init__(self, results: Results) -> None:
        self._shares: dict[str, dict[tuple[str, str], float]] = {
            game.game: _collect_shares(game) for game in results.games
        }

    def compute_share(self, match: PlayedMatch, game: str, seat: int) -> float:
        """Return the expected share of a seat's player, averaged over the other players in the match."""
        shares, mine = self._shares[game], match.players[seat]
        return fmean(shares.get((mine, other), 0.5) for s, other in enumerate(match.players) if s != seat)


def _collect_shares(game: GameResult) -> dict[tuple[str, str], float]:
    if game.board is None:
        return {}
    return {
        (one, other): pairing.share
        for one, row in zip(game.board.players, game.board.payoff, strict=True)
        for other, pairing in zip(game.board.players, row, strict=True)
        if pairing is not None
    }


def choose_matches(
    players: Sequence[str], lineups: Sequence[PlayedLineup], expected: ExpectedPoints, most: int
) -> list[str]:
    """Return the ids of at most `most` matches per lineup, and of each player's worst losses. Empty if `most` is 0."""
    chosen = [match for lineup in lineups for match in _sort_by_interest(lineup, expected)[:most]]
    if most:
        for player in players:
            chosen += [loss.match for loss in find_worst_losses(player, lineups, expected)[:LOSSES]]
    return list(dict.fromkeys(match.id for match in chosen))


def _sort_by_interest(lineup: PlayedLineup, expected: ExpectedPoints) -> list[PlayedMatch]:
    """Return a lineup's matches from most to least informative.

    In zero-sum games, forfeits, losses of the favorite and losses of the underdog alternate; draws come last. For a
    player alone, forfeits come first, then matches by ascending return."""
    once = [match for match in lineup.matches if match.counts]
    if len(lineup.players) == 1:
        return sorted(once, key=lambda match: (match.ending.seat is None, fmean(match.returns)))
    kinds: defaultdict[tuple[bool, bool, float], list[PlayedMatch]] = defaultdict(list)
    for match in once:
        lost = [
            expected.compute_share(match, lineup.game, seat) for seat, how in enumerate(match.results) if how == "loss"
        ]
        kinds[not lost, match.ending.seat is None, -max(lost, default=0.0)].append(match)
    turns = [(kind[0], turn, kind, match) for kind, matches in kinds.items() for turn, match in enumerate(matches)]
    return [match for *_, match in sorted(turns, key=lambda turn: turn[:3])]


def find_worst_losses(player: str, lineups: Sequence[PlayedLineup], expected: ExpectedPoints) -> list[Loss]:
    """Return a player's losses from least to most expected, with forfeits last."""
    losses = []
    for lineup in lineups:
        if player not in lineup.players or len(lineup.players) == 1:
            continue
        for match in lineup.matches:
            seat = match.players.index(player)
            if match.counts and match.results[seat] == "loss":
                losses.append(Loss(lineup.game, match, seat, expected.compute_share(match, lineup.game, seat)))
    return sorted(losses, key=lambda loss: (loss.match.ending.seat == loss.seat, -loss.share))
