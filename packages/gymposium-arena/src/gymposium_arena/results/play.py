"""Compute ratings that separate playing badly from failing to reply, from the decisions in a board's matches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gymposium.analysis.review import MatchReview, ReviewCache
from gymposium.games.protocol import Match
from gymposium.games.registry import needs_isolation
from gymposium.records import Record, replay_choices
from gymposium.util.isolated import call_isolated
from gymposium_arena.outcomes import MatchOutcome, read_outcomes
from gymposium_arena.ratings.comparisons import Floats, compare_players
from gymposium_arena.ratings.completed import (
    MAX_FAILURE_PROBABILITY,
    Decisions,
    compute_effective_number,
    weight_completed_matches,
)
from gymposium_arena.ratings.evidence import sum_game
from gymposium_arena.ratings.fit import fit_ratings
from gymposium_arena.ratings.returns import compute_means, sum_returns
from gymposium_arena.results.model import Interval, PlayResult, PlayStanding, round_figure, round_known
from gymposium_arena.results.standings import make_interval


def make_play_result(
    decisions: GameDecisions,
    outcomes: Sequence[MatchOutcome],
    players: Sequence[str],
    order: Sequence[str],
    draw_weights: Callable[[int, float], Floats],
    prior: np.random.Generator,
    get_weights: Callable[[Sequence[str]], Floats],
) -> PlayResult:
    """Return ratings of play alone, with players in this `order`.

    `draw_weights` draws deal weights for a number of deals and an effective number; `get_weights` draws those for
    reliability. `prior` is the prior's generator. A player whose replies almost always fail at some decision is not
    rated, and its matches do not count."""
    rows = decisions.count_decisions(outcomes, players)
    found = weight_completed_matches(rows, len(outcomes), len(players))
    hopeless = {
        player for player, most in zip(players, found.max_failure, strict=True) if most > MAX_FAILURE_PROBABILITY
    }
    counted = np.array([hopeless.isdisjoint(one.players) for one in outcomes])
    weights = np.where(counted, found.weights, 0.0)
    comparisons = compare_players(outcomes, players, weights)
    samples = draw_weights(len(comparisons.deals), compute_effective_number(_sum_by_deal(outcomes, weights)))
    ratings = fit_ratings(sum_game(comparisons, samples), prior)
    low, high = ratings.compute_ends()
    failed: defaultdict[int, set[int]] = defaultdict(set)
    for match, player in zip(rows.match[rows.failed], rows.player[rows.failed], strict=True):
        failed[int(player)].add(int(match))
    standings = {
        player: PlayStanding(
            player=player,
            bound=ratings.bounds[i],
            rating=round_known(ratings.values[i], 1),
            low=round_known(low[i], 1),
            high=round_known(high[i], 1),
            effective=round_figure(
                compute_effective_number([w for w, one in zip(weights, outcomes) if player in one.players]), 1
            ),
            failing=round_figure(found.max_failure[i], 4),
            reliability=_estimate_reliability(outcomes, player, failed[i], get_weights),
        )
        for i, player in enumerate(players)
    }
    return PlayResult(players=[standings[player] for player in order], reviewed=decisions.reviewed)


def _estimate_reliability(
    outcomes: Sequence[MatchOutcome],
    player: str,
    failed: Collection[int],
    get_weights: Callable[[Sequence[str]], Floats],
) -> Interval:
    """Return the share of a player's matches without a failed reply; `failed` holds the indices of matches with one."""
    own = [
        replace(one, players=(player,), utilities=(0.0 if i in failed else 1.0,))
        for i, one in enumerate(outcomes)
        if player in one.players
    ]
    returns = sum_returns(own, [player])
    means = compute_means(returns, get_weights(returns.deals), (0.0, 1.0))
    found = make_interval(means.values[0], means.low[0], means.high[0])
    assert found is not None, "it has played"
    return found


def _sum_by_deal(outcomes: Sequence[MatchOutcome], weights: Floats) -> list[float]:
    """Return the sum of weights per deal."""
    sums: defaultdict[str, float] = defaultdict(float)
    for one, weight in zip(outcomes, weights, strict=True):
        sums[one.group] += float(weight)
    return [*sums.values()]


Features = tuple[float, float, float, float, float]
"""Turn, log length of the observation, number of legal moves, seat, and the position's value (0 if unknown)."""


@dataclass(slots=True)
class GameDecisions:
    """The decisions in one game's matches."""

    _reviews: ReviewCache
    reviewed: bool = True
    """Whether every match has a review with the values of its positions."""
    _rows: dict[tuple[tuple[str, ...], str], list[tuple[int, Features, bool]]] = field(default_factory=dict)
    """The seat, features and failure of each decision, by the match's players and outcome digest."""

    def add(self, matches: Path, record: Record) -> None:
        """Add a finished match from a match file. Raises `GymposiumError` if the match cannot be replayed."""
        _, review = self._reviews.find(matches, record)
        self.reviewed &= review is not None
        for outcome in read_outcomes([record]):
            how = (
                call_isolated(_extract_decisions, record, review)
                if needs_isolation(record.game)
                else _extract_decisions(record, review)
            )
            self._rows[outcome.players, outcome.digest] = how

    def count_decisions(self, outcomes: Sequence[MatchOutcome], players: Sequence[str]) -> Decisions:
        """Return the decisions in these outcomes as arrays. Player indices follow `players`."""
        deals = {group: number for number, group in enumerate(sorted({one.group for one in outcomes}))}
        index = {player: number for number, player in enumerate(players)}
        known = 5 if self.reviewed else 4
        rows = [
            (match, deals[one.group], index[one.players[seat]], features[:known], failed)
            for match, one in enumerate(outcomes)
            for seat, features, failed in self._rows[one.players, one.digest]
        ]
        match, deal, player, features, failed = zip(*rows, strict=True)
        return Decisions(np.array(match), np.array(deal), np.array(player), np.array(features), np.array(failed))


def _extract_decisions(record: Record, review: MatchReview | None) -> list[tuple[int, Features, bool]]:
    worth: Mapping[tuple[int, int], float] = (
        {} if review is None else {(one.step, one.seat): one.before for one in review.decisions}
    )
    styles = [prompt["style"] for prompt in record.prompts]
    turns = [0] * len(record.players)

    def look(match: Match) -> dict[int, tuple[float, float]]:
        return {
            seat: (math.log1p(len(match.observe(seat, styles[seat]).text)), float(len(match.legal_moves(seat) or ())))
            for seat in match.to_move()
        }

    found = []
    for step, decision, seat, failed in replay_choices(record, look):
        length, moves = decision.seen[seat]
        features = (float(turns[seat]), length, moves, float(seat), worth.get((step, seat), 0.0))
        turns[seat] += 1
        found.append((seat, features, failed))
    return found
