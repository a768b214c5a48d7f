"""Strength against cost: tokens and seconds per reply beside a game's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gymposium_arena.results.model import Conduct, GameResult
from gymposium_arena.site.charts import Plot, cost_plot
from gymposium_arena.site.figures import PlayerFigure, name_measure, rank_figures
from gymposium_arena.site.played import ReplyCosts


@dataclass(frozen=True, slots=True)
class CostRow:
    """The cost of a language model's replies in a game."""

    figure: PlayerFigure
    tokens: float
    """Tokens written per reply."""
    read: float
    """Tokens read per reply."""
    seconds: float | None
    """Seconds per reply, if recorded."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Strength against cost in a game."""

    game: GameResult
    measure: str
    plot: Plot
    rows: Sequence[CostRow]


def compute_costs(game: GameResult, conduct: Mapping[str, Conduct], spent: Mapping[str, ReplyCosts]) -> Costs | None:
    """Return a game's costs; None if no player with a figure reports tokens. `conduct` and `spent` are those of the
    game's players."""
    figures = [figure for figure in rank_figures(game) if figure.value is not None]
    rows = [row for figure in figures for row in _row(figure, conduct, spent)]
    if not rows:
        return None
    strengths = {figure.player: figure.value for figure in figures if figure.value is not None}
    plot = cost_plot(strengths, {row.figure.player: row.tokens for row in rows})
    return Costs(game, name_measure(game), plot, rows)


def _row(figure: PlayerFigure, conduct: Mapping[str, Conduct], spent: Mapping[str, ReplyCosts]) -> Sequence[CostRow]:
    behaved = conduct[figure.player]
    if not behaved.completion_tokens:
        return []
    replies, time = sum(behaved.replies.values()), spent.get(figure.player, ReplyCosts())
    seconds = time.seconds / time.timed if time.timed else None
    return [CostRow(figure, behaved.completion_tokens / replies, behaved.prompt_tokens / replies, seconds)]
