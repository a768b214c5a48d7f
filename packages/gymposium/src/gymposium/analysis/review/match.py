"""The review of one match: what each decision gave away."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from gymposium.analysis.review.judge import Judge, JudgedDecision
from gymposium.games.protocol import Match
from gymposium.games.registry import load_named_game
from gymposium.match.failures import forfeit_returns
from gymposium.records import Record, decided
from gymposium.util.json_file import FileModel
from gymposium.util.streams import stream

MARKED = 3
"""Most decisions of a match that are marked as its largest drops."""
NOTABLE = 0.02
"""Least share of the range of returns that is marked."""
SURELY_NOTABLE = 0.2
"""Least share by which a judge that estimates says which decision lost a match."""


class ReviewedDecision(NamedTuple):
    """A decision and what it was worth to its seat, as returns of the game."""

    step: int
    """The decision's place in the match, from 0, as `gymposium view` numbers them."""
    seat: int
    failed: bool
    """True if the seat's reply was no legal move: the match ended, or a move was drawn for it."""
    before: float
    """The worth of the position with the best move."""
    after: float
    """With the move that was made or drawn; the seat's return, if the match ended there."""
    best: str | None
    """A better move, if the judge knows one and the move gave something away."""
    unlikely: bool
    """True if the judge's table never leads there (`gymposium.analysis.review.judge.Worth`)."""

    @property
    def given(self) -> float:
        """What the decision gave away, as a return."""
        return max(0.0, self.before - self.after)


class Drop(NamedTuple):
    """A decision that gave away much."""

    decision: ReviewedDecision
    share: float
    """What it gave away, as a share of the game's range of returns."""


class MatchReview(FileModel):
    """The decisions of a match that were judged, in order."""

    record: str
    """`sha256:` with the digest of the match's record, to tell whether it has changed."""
    decisions: list[ReviewedDecision]
    unjudged: int
    """Number of decisions that the judge could not judge."""

    def drops(self, low: float, high: float) -> list[Drop]:
        """The decisions that gave away most, the largest first: up to `MARKED`, each at least `NOTABLE` of the range of
        returns from `low` to `high`."""
        found = [Drop(one, one.given / (high - low)) for one in self.decisions]
        found.sort(key=lambda drop: -drop.share)
        return [drop for drop in found if drop.share >= NOTABLE][:MARKED]

    def losing(self, returns: Sequence[float], low: float, high: float, *, exact: bool) -> Drop | None:
        """The decision that lost the match: the loser's last one that gave away at least half as much as its worst
        one. None if nobody lost, or the loser gave away nothing notable; if the judge is not `exact`, less than
        `SURELY_NOTABLE`."""
        if min(returns) == max(returns):
            return None
        loser = returns.index(min(returns))
        own = [Drop(one, one.given / (high - low)) for one in self.decisions if one.seat == loser]
        worst = max((drop.share for drop in own), default=0.0)
        if worst < (NOTABLE if exact else SURELY_NOTABLE):
            return None
        return [drop for drop in own if drop.share >= worst / 2][-1]


def digest_of(record: Record) -> str:
    """The digest of a record, as a review keeps it."""
    return f"sha256:{sha256(record.line().encode()).hexdigest()}"


def review_match(record: Record, judge: Judge) -> MatchReview:
    """Play a recorded match again and judge each of its decisions, except those of a random opening.

    A reply that is no legal move gives away what was still to be had: the match ends with the seat's least return. If
    a move is drawn instead, it gives away what the drawn move does. Raises `GymposiumError` if the record cannot be
    played again."""
    game = load_named_game(record.game)
    places: list[tuple[int, bool]] = []
    choices: list[JudgedDecision] = []
    for step, decision, seat, failed in decided(record, _kept):
        places.append((step, failed))
        choices.append(JudgedDecision(decision.seen, seat, decision.moves.get(seat)))
    worths = judge.judge(choices, stream(record.seed, "review").getrandbits(48))
    found = []
    for (step, failed), choice, worth in zip(places, choices, worths, strict=True):
        if worth is None:
            continue
        after = worth.after
        if after is None:
            after = forfeit_returns(game, choice.seat, choice.match.returns())[choice.seat]
        best = worth.best if worth.before > after else None
        found.append(
            ReviewedDecision(step, choice.seat, failed, _rounded(worth.before), _rounded(after), best, worth.unlikely)
        )
    return MatchReview(record=digest_of(record), decisions=found, unjudged=len(choices) - len(found))


def _kept(match: Match) -> Match:
    """A copy of the match as it stands."""
    return match.fork(random.Random(0))


def _rounded(value: float) -> float:
    return round(value, 9) + 0.0
