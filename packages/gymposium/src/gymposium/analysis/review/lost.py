"""Average loss per move, over many reviewed matches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from gymposium.analysis.review.match import MatchReview
from gymposium.records.scores import compute_deal_ratios, estimate_mean


@dataclass(frozen=True, slots=True)
class LossSummary:
    """A player's losses in one game, as shares of the game's return range."""

    player: str
    matches: int
    moves: int
    """Number of judged moves. Failed replies are counted separately."""
    per_move: float
    """Mean loss over the judged moves."""
    low: float | None
    high: float | None
    """`low` and `high` are the bounds of the 95% interval for `per_move`; None with fewer than two deals."""
    failures: int
    """Number of decisions without a legal reply by the player."""
    per_failure: float | None
    """Mean loss over these decisions; None without any."""
    unjudged: int
    """Number of unjudged decisions in the player's matches, over all seats."""


@dataclass(slots=True)
class _PlayerTally:
    matches: int = 0
    moves: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Number of judged moves per deal."""
    losses: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    """Total loss of these moves per deal."""
    failures: list[float] = field(default_factory=list)
    unjudged: int = 0


class LossTally:
    """A running tally of losses in one game, match by match."""

    def __init__(self) -> None:
        self.matches = 0
        """Number of matches added."""
        self._players: dict[str, _PlayerTally] = {}

    def add(self, players: Sequence[str], deal: int, review: MatchReview, low: float, high: float) -> None:
        """Add a match between the players in these seats.

        Matches with the same `deal` (the match seed) are not independent. `low` and `high` are the game's minimum and
        maximum return."""
        self.matches += 1
        for player in dict.fromkeys(players):
            tally = self._players.setdefault(player, _PlayerTally())
            tally.matches += 1
            tally.unjudged += review.unjudged
        for decision in review.decisions:
            tally, share = self._players[players[decision.seat]], decision.loss / (high - low)
            if decision.failed:
                tally.failures.append(share)
            else:
                tally.moves[deal] += 1
                tally.losses[deal] += share

    def players(self) -> list[LossSummary]:
        """Return each player's losses, sorted by mean loss per move.

        The interval comes from `scores.mean`, for a ratio of sums over deals."""
        found = [_summarize(player, tally) for player, tally in self._players.items()]
        return sorted(found, key=lambda lost: (lost.per_move, lost.player))


def _summarize(player: str, tally: _PlayerTally) -> LossSummary:
    moves, lost = sum(tally.moves.values()), math.fsum(tally.losses.values())
    per_move, deals = lost / moves if moves else 0.0, len(tally.moves)
    by_deal = compute_deal_ratios([tally.losses[one] for one in tally.moves], [*tally.moves.values()]) if moves else []
    found = estimate_mean(by_deal, (0.0, 1.0))
    failures = tally.failures
    return LossSummary(
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
