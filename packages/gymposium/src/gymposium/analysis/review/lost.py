"""What players give away per move, over many reviewed matches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from gymposium.analysis.review.match import MatchReview
from gymposium.records.scores import mean, ratio_by_deal


@dataclass(frozen=True, slots=True)
class Lost:
    """What a player gave away in a game, in shares of the game's range of returns."""

    player: str
    matches: int
    moves: int
    """Number of its moves that were judged; failed replies are counted apart."""
    per_move: float
    """Mean over these moves."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None with fewer than two deals."""
    failures: int
    """Number of decisions without a legal reply."""
    per_failure: float | None
    """What such a decision gave away on average; None without one."""
    unjudged: int
    """Number of decisions in its matches, of all seats, that could not be judged."""


@dataclass(slots=True)
class _PlayerTally:
    matches: int = 0
    moves: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Number of moves by deal."""
    given: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    """What they gave away by deal."""
    failures: list[float] = field(default_factory=list)
    unjudged: int = 0


class LostTally:
    """Counts what the players of one game give away, match by match."""

    def __init__(self) -> None:
        self.matches = 0
        """Number of matches that were added."""
        self._players: dict[str, _PlayerTally] = {}

    def add(self, players: Sequence[str], deal: int, review: MatchReview, low: float, high: float) -> None:
        """Add a match between the players of these seats. Matches with the same `deal`, the seed of the match, are not
        independent. `low` and `high` are the game's least and greatest return."""
        self.matches += 1
        for player in dict.fromkeys(players):
            tally = self._players.setdefault(player, _PlayerTally())
            tally.matches += 1
            tally.unjudged += review.unjudged
        for decision in review.decisions:
            tally, share = self._players[players[decision.seat]], decision.given / (high - low)
            if decision.failed:
                tally.failures.append(share)
            else:
                tally.moves[deal] += 1
                tally.given[deal] += share

    def players(self) -> list[Lost]:
        """What each player gave away, the least per move first.

        The interval is that of `scores.mean` for a ratio of sums over deals."""
        found = [_lost(player, tally) for player, tally in self._players.items()]
        return sorted(found, key=lambda lost: (lost.per_move, lost.player))


def _lost(player: str, tally: _PlayerTally) -> Lost:
    moves, given = sum(tally.moves.values()), math.fsum(tally.given.values())
    per_move, deals = given / moves if moves else 0.0, len(tally.moves)
    by_deal = ratio_by_deal([tally.given[one] for one in tally.moves], [*tally.moves.values()]) if moves else []
    found = mean(by_deal, (0.0, 1.0))
    failures = tally.failures
    return Lost(
        player,
        tally.matches,
        moves,
        per_move,
        found.low if deals > 1 else None,
        found.high if deals > 1 else None,
        len(failures),
        math.fsum(failures) / len(failures) if failures else None,
        tally.unjudged,
    )
