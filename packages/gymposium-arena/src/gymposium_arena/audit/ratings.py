"""Ratings of the agents in audited episodes, computed like those of a board's players (`gymposium_arena.ratings`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gymposium.games.registry import load_named_game
from gymposium.records import Record
from gymposium_arena.outcomes import MatchOutcome, distinct, read_outcomes
from gymposium_arena.ratings.bootstrap import SAMPLES, deal_weights, generator, interval
from gymposium_arena.ratings.comparisons import compare
from gymposium_arena.ratings.evidence import from_game
from gymposium_arena.ratings.fit import find_anchor, rate

_SEED = 0


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of one agent in one game, in Elo points."""

    game: str
    agent: str
    matches: int
    """Number of matches against other agents."""
    anchor: str
    """The agent that is rated 0."""
    value: float | None
    """None if there is not enough data."""
    low: float | None
    """The ends of the 95 % interval; None for an end that the data does not determine."""
    high: float | None


def compute_ratings(records: Iterable[Record]) -> list[Rating]:
    """Return the ratings of the agents in each zero-sum game with two or more seats, best agent first."""
    games: dict[str, list[MatchOutcome]] = {}
    for outcome in distinct(read_outcomes(records)):
        if len(set(outcome.players)) == len(outcome.players) > 1:
            games.setdefault(outcome.game.removeprefix("recorded:"), []).append(outcome)
    return [
        rating
        for game, outcomes in sorted(games.items())
        if load_named_game(game).spec.utility == "zero_sum"
        for rating in _rated(game, outcomes)
    ]


def _rated(game: str, outcomes: list[MatchOutcome]) -> list[Rating]:
    agents = sorted({agent for outcome in outcomes for agent in outcome.players})
    matches = Counter(agent for outcome in outcomes for agent in outcome.players)
    comparisons = compare(outcomes, agents)
    weights = deal_weights(generator(_SEED, "deals", game), SAMPLES, len(comparisons.deals))
    ratings = rate(from_game(comparisons, weights), generator(_SEED, "prior", game))
    low, high = interval(ratings.samples)
    rated = [
        Rating(
            game,
            agent,
            matches[agent],
            find_anchor(agents),
            _figure(ratings.values[i]),
            None if ratings.bounds[i] == "at most" else _figure(low[i]),
            None if ratings.bounds[i] == "at least" else _figure(high[i]),
        )
        for i, agent in enumerate(agents)
    ]
    return sorted(rated, key=lambda row: -math.inf if row.value is None else row.value, reverse=True)


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 1)
