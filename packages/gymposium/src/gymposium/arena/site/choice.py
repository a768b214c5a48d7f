"""Which matches get a page of their own: those that somebody lost, up to a limit, first those that tell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from gymposium.arena.results.model import GameResult, Results
from gymposium.arena.site.played import PlayedLineup, PlayedMatch

LOSSES = 12
"""Of each player, so many of its worst losses."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A match that a player lost."""

    game: str
    match: PlayedMatch
    seat: int
    share: float
    """Of the points, what it mostly takes from these opponents: the higher, the less was it to be expected."""

    @property
    def opponents(self) -> list[str]:
        """Everyone else who sat there."""
        return [player for seat, player in enumerate(self.match.players) if seat != self.seat]


class Expected:
    """What players mostly take from each other, by the pay-off matrices."""

    def __init__(self, results: Results) -> None:
        self._shares: dict[str, dict[tuple[str, str], float]] = {game.game: _shares(game) for game in results.games}

    def share(self, match: PlayedMatch, game: str, seat: int) -> float:
        """Of a seat's player against all others of the match."""
        shares, mine = self._shares[game], match.players[seat]
        return fmean(shares.get((mine, other), 0.5) for s, other in enumerate(match.players) if s != seat)


def _shares(game: GameResult) -> dict[tuple[str, str], float]:
    if game.board is None:
        return {}
    return {
        (one, other): pairing.share
        for one, row in zip(game.board.players, game.board.payoff, strict=True)
        for other, pairing in zip(game.board.players, row, strict=True)
        if pairing is not None
    }


def choose(players: Sequence[str], lineups: Sequence[PlayedLineup], expected: Expected, most: int) -> list[str]:
    """The ids of at most so many matches of each lineup, those first that tell most, and of each player's worst losses;
    of none where `most` is 0."""
    chosen = [match for lineup in lineups for match in _telling(lineup, expected)[:most]]
    if most:
        for player in players:
            chosen += [loss.match for loss in worst_losses(player, lineups, expected)[:LOSSES]]
    return list(dict.fromkeys(match.id for match in chosen))


def _telling(lineup: PlayedLineup, expected: Expected) -> list[PlayedMatch]:
    """A lineup's matches, those first that tell most. Between rivals that is one of each kind in turn: forfeits, losses
    by who mostly wins, losses by who mostly loses; draws come last. Alone it is forfeits, then what paid least."""
    once = [match for match in lineup.matches if match.counts]
    if len(lineup.players) == 1:
        return sorted(once, key=lambda match: (match.ending.seat is None, fmean(match.returns)))
    kinds: dict[tuple[bool, bool, float], list[PlayedMatch]] = {}
    for match in once:
        lost = [expected.share(match, lineup.game, seat) for seat, how in enumerate(match.results) if how == "loss"]
        kind = (not lost, match.ending.seat is None, -max(lost, default=0.0))
        kinds.setdefault(kind, []).append(match)
    turns = [(kind[0], turn, kind, match) for kind, matches in kinds.items() for turn, match in enumerate(matches)]
    return [match for *_, match in sorted(turns, key=lambda one: one[:3])]


def worst_losses(player: str, lineups: Sequence[PlayedLineup], expected: Expected) -> list[Loss]:
    """What this player lost to those from whom it mostly takes most. A forfeit is a loss like any."""
    found = []
    for lineup in lineups:
        if player not in lineup.players or len(lineup.players) == 1:
            continue
        for match in lineup.matches:
            seat = match.players.index(player)
            if match.counts and match.results[seat] == "loss":
                found.append(Loss(lineup.game, match, seat, expected.share(match, lineup.game, seat)))
    return sorted(found, key=lambda loss: -loss.share)
