"""Count results and failures in audited episodes by game and agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gymposium.records import Record
from gymposium_arena.audit.episode import Episode


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
