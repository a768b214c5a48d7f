"""Summarize audited episodes by game and agent: results, failures and ratings (`gymposium_arena.ratings`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gymposium.games.registry import load_named_game
from gymposium.records import Record
from gymposium_arena.audit.episode import Episode
from gymposium_arena.outcomes import MatchOutcome, drop_duplicates, read_outcomes
from gymposium_arena.ratings.bootstrap import SAMPLES, draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import compare_players
from gymposium_arena.ratings.evidence import sum_game
from gymposium_arena.ratings.fit import find_anchor, fit_ratings
from gymposium_arena.results.model import round_known

_SEED = 0


@dataclass(frozen=True, slots=True)
class Rating:
    """An agent's rating in a game, in Elo points."""

    game: str
    agent: str
    matches: int
    """Number of matches against other agents."""
    anchor: str
    """The agent that is rated 0."""
    value: float | None
    """The rating; None without enough data."""
    low: float | None
    """Lower end of the 95% interval; None if undetermined. `high` is the upper end."""
    high: float | None


def compute_ratings(records: Iterable[Record]) -> list[Rating]:
    """Rate the agents in each zero-sum game with two or more seats, from best to worst."""
    games: dict[str, list[MatchOutcome]] = {}
    for outcome in drop_duplicates(read_outcomes(records)):
        if len(set(outcome.players)) == len(outcome.players) > 1:
            games.setdefault(outcome.game.removeprefix("recorded:"), []).append(outcome)
    return [
        rating
        for game, outcomes in sorted(games.items())
        if load_named_game(game).spec.utility == "zero_sum"
        for rating in _rate_agents(game, outcomes)
    ]


def _rate_agents(game: str, outcomes: list[MatchOutcome]) -> list[Rating]:
    agents = sorted({agent for outcome in outcomes for agent in outcome.players})
    matches = Counter(agent for outcome in outcomes for agent in outcome.players)
    comparisons = compare_players(outcomes, agents)
    weights = draw_deal_weights(make_generator(_SEED, "deals", game), SAMPLES, len(comparisons.deals))
    ratings = fit_ratings(sum_game(comparisons, weights), make_generator(_SEED, "prior", game))
    low, high = ratings.compute_ends()
    rated = [
        Rating(
            game,
            agent,
            matches[agent],
            find_anchor(agents),
            round_known(ratings.values[i], 1),
            round_known(low[i], 1),
            round_known(high[i], 1),
        )
        for i, agent in enumerate(agents)
    ]
    return sorted(rated, key=lambda row: -math.inf if row.value is None else row.value, reverse=True)


@dataclass(slots=True)
class AgentRow:
    """An agent's results in a game."""

    game: str
    agent: str
    matches: int = 0
    """Matching episodes with a result, counted once per seat of the agent."""
    results: Counter[str] = field(default_factory=Counter)
    """Counts of `win`, `draw`, `loss` and `score`."""
    returned: float = 0.0
    """Sum of the returns."""
    failures: Counter[str] = field(default_factory=Counter)
    """Failures that ended an episode, by cause (`gymposium_arena.audit.logged_match.CAUSES`)."""
    retried: Counter[str] = field(default_factory=Counter)
    """Retried replies, by cause."""


def make_rows(episodes: Iterable[Episode]) -> list[AgentRow]:
    """Summarize all matching episodes in one row per game and agent."""
    rows: dict[tuple[str, str], AgentRow] = {}
    for episode in episodes:
        if not episode.agrees or not episode.game:
            continue
        game = episode.game.removeprefix("recorded:")
        here = {agent: rows.setdefault((game, agent), AgentRow(game, agent)) for agent in episode.agents}
        for agent, cause in episode.failures.items():
            here[agent].failures[cause] += 1
        if episode.record is not None:
            _count_match(episode.record, here)
    return [rows[key] for key in sorted(rows)]


def _count_match(record: Record, rows: Mapping[str, AgentRow]) -> None:
    for seat, agent in enumerate(record.players):
        row = rows[agent]
        row.matches += 1
        row.results[record.results[seat]] += 1
        row.returned += record.returns[seat]
        failed = [turn["reading"] for turn in record.turns if turn["seat"] == seat and turn["reading"] != "move"]
        ended = record.ending.find_failure(seat)
        row.retried.update(failed[:-1] if ended is not None and ended.kind == "no legal move" else failed)
