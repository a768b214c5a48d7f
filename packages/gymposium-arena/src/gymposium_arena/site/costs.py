"""Compare strength with cost: tokens and seconds per reply in a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gymposium_arena.results.model import Conduct, GameResult
from gymposium_arena.site.charts import Plot, make_cost_plot
from gymposium_arena.site.figures import PlayerFigure, name_measure, rank_figures
from gymposium_arena.site.played import ReplyCosts


@dataclass(frozen=True, slots=True)
class CostRow:
    """A language model's cost per reply in a game."""

    figure: PlayerFigure
    tokens: float
    """Written tokens per reply."""
    read: float
    """Read tokens per reply."""
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
    """Return a game's costs, or None if no ranked player reports tokens. `conduct` and `spent` are by player."""
    figures = [figure for figure in rank_figures(game) if figure.value is not None]
    rows = [row for figure in figures for row in _make_rows(figure, conduct, spent)]
    if not rows:
        return None
    strengths = {figure.player: figure.value for figure in figures if figure.value is not None}
    plot = make_cost_plot(strengths, {row.figure.player: row.tokens for row in rows})
    return Costs(game, name_measure(game), plot, rows)


def _make_rows(
    figure: PlayerFigure, conduct: Mapping[str, Conduct], spent: Mapping[str, ReplyCosts]
) -> Sequence[CostRow]:
    behaved = conduct[figure.player]
    if not behaved.completion_tokens:
        return []
    replies, time = sum(behaved.replies.values()), spent.get(figure.player, ReplyCosts())
    seconds = time.seconds / time.timed if time.timed else None
    return [CostRow(figure, behaved.completion_tokens / replies, behaved.prompt_tokens / replies, seconds)]
