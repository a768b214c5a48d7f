"""The review of one match: the loss at each decision."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from gymposium.analysis.review.judge import Judge, JudgedDecision
from gymposium.games.protocol import Match
from gymposium.games.registry import load_named_game
from gymposium.match.failures import compute_forfeit_returns
from gymposium.records import Record, replay_choices
from gymposium.util.json_file import FileModel
from gymposium.util.streams import stream

MARKED = 3
"""Maximum number of decisions marked as a match's largest drops."""
NOTABLE = 0.02
"""Minimum loss of a marked decision, as a share of the return range."""
SURELY_NOTABLE = 0.2
"""Minimum loss for a judge that only estimates to name the losing decision, as a share of the return range."""


class ReviewedDecision(NamedTuple):
    """A judged decision. Its values are returns of the seat that made it."""

    step: int
    """The decision's index in the match, counted from 0, as shown in `gymposium view`."""
    seat: int
    failed: bool
    """True if the seat gave no legal reply. Then the match ended, or a move was drawn."""
    before: float
    """Value of the position with the best move."""
    after: float
    """Value after the move that was made or drawn; the seat's return if the match ended here."""
    best: str | None
    """A better move, if the actual move lost something and the judge names one."""
    unlikely: bool
    """True if the judge's table never reaches this state (`gymposium.analysis.review.judge.DecisionValue`)."""

    @property
    def loss(self) -> float:
        """The return lost by the decision."""
        return max(0.0, self.before - self.after)


class Drop(NamedTuple):
    """A decision with a large loss."""

    decision: ReviewedDecision
    share: float
    """The loss as a share of the game's return range."""


class MatchReview(FileModel):
    """A match's judged decisions, in order."""

    record: str
    """`sha256:` plus the digest of the match's record, to detect changes."""
    decisions: list[ReviewedDecision]
    unjudged: int
    """Number of decisions that the judge could not judge."""

    def find_drops(self, low: float, high: float) -> list[Drop]:
        """Return the decisions with the largest losses, the largest first.

        At most `MARKED` are returned. Each loses at least a share `NOTABLE` of the return range from `low` to
        `high`."""
        found = [Drop(one, one.loss / (high - low)) for one in self.decisions]
        found.sort(key=lambda drop: -drop.share)
        return [drop for drop in found if drop.share >= NOTABLE][:MARKED]

    def find_losing_decision(self, returns: Sequence[float], low: float, high: float, *, exact: bool) -> Drop | None:
        """Return the decision that lost the match, or None if no seat lost or no loss is large enough.

        It is the loser's last decision that lost at least half as much as its worst. The threshold is `NOTABLE` for an
        exact judge and `SURELY_NOTABLE` for one that estimates."""
        if min(returns) == max(returns):
            return None
        loser = returns.index(min(returns))
        own = [Drop(one, one.loss / (high - low)) for one in self.decisions if one.seat == loser]
        worst = max((drop.share for drop in own), default=0.0)
        if worst < (NOTABLE if exact else SURELY_NOTABLE):
            return None
        return [drop for drop in own if drop.share >= worst / 2][-1]


def compute_digest(record: Record) -> str:
    """Return a record's digest, as stored in a review."""
    return f"sha256:{sha256(record.line().encode()).hexdigest()}"


def review_match(record: Record, judge: Judge) -> MatchReview:
    """Replay a match and judge each decision, except those in a random opening.

    An illegal reply that ends the match loses everything still possible: the seat gets its minimum return. If a move is
    drawn instead, the reply loses what the drawn move loses. Raises `GymposiumError` if the record cannot be
    replayed."""
    game = load_named_game(record.game)
    places: list[tuple[int, bool]] = []
    choices: list[JudgedDecision] = []
    for step, decision, seat, failed in replay_choices(record, _take_snapshot):
        places.append((step, failed))
        choices.append(JudgedDecision(decision.seen, seat, decision.moves.get(seat)))
    worths = judge.judge(choices, stream(record.seed, "review").getrandbits(48))
    found = []
    for (step, failed), choice, worth in zip(places, choices, worths, strict=True):
        if worth is None:
            continue
        after = worth.after
        if after is None:
            after = compute_forfeit_returns(game, choice.seat, choice.match.returns())[choice.seat]
        best = worth.best if worth.before > after else None
        found.append(
            ReviewedDecision(
                step, choice.seat, failed, _round_value(worth.before), _round_value(after), best, worth.unlikely
            )
        )
    return MatchReview(record=compute_digest(record), decisions=found, unjudged=len(choices) - len(found))


def _take_snapshot(match: Match) -> Match:
    """Return a snapshot of the match."""
    return match.fork(random.Random(0))


def _round_value(value: float) -> float:
    return round(value, 9) + 0.0
