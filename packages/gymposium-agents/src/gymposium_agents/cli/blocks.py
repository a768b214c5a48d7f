"""Tables of an evaluation, with three measures each to fit an 80-column terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.table import Column, Table

from gymposium.games.protocol import Game
from gymposium.records.scores import Estimate, Score
from gymposium_agents.players.evaluate import Evaluation

ACROSS = 3
"""Number of measures per table."""

Measures = dict[str, Callable[[Score], str]]


def make_blocks(evaluation: Evaluation) -> Iterator[Table]:
    """Yield one table per three measures of a kind. A table has a row for all matches and, with several seats, a row
    per seat."""
    rows = {"all": evaluation.overall}
    if len(evaluation.by_seat) > 1:
        rows |= {f"seat {seat}": score for seat, score in enumerate(evaluation.by_seat)}
    for corner, measures in _group_measures(evaluation.overall):
        headings = list(measures)
        for start in range(0, len(headings), ACROSS):
            block = headings[start : start + ACROSS]
            columns = [Column(corner, min_width=10), *(Column(heading, min_width=20) for heading in block)]
            table = Table(*columns, box=None, padding=(0, 2, 0, 0), pad_edge=False)
            for name, score in rows.items():
                table.add_row(name, *(measures[heading](score) for heading in block))
            yield table


def make_overview(results: Iterable[tuple[Game, str, Evaluation]]) -> Table:
    """Make a table with a row for each game and opponent."""
    table = Table("game", "against", "win", "mean return", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for game, opponent, evaluation in results:
        score = evaluation.overall
        win = str(score.result_rate("win")) if game.seats > 1 else ""
        table.add_row(game.name, opponent, win, str(score.mean_return()))
    return table


def _group_measures(overall: Score) -> Iterator[tuple[str, Measures]]:
    """Yield the measures by unit, such as matches or replies."""
    if "score" not in overall.results:
        yield "of matches", {result: _make_formatter(Score.result_rate, result) for result in ("win", "draw", "loss")}
    yield (
        "of replies",
        {kind: _make_formatter(Score.reading_rate, kind) for kind in ("illegal", "unparsable", "cut off")},
    )
    if overall.repaired:
        yield "of replies", {"repaired": lambda score: str(score.repaired_rate())}
    means: Measures = {"mean return": lambda score: str(score.mean_return())}
    if overall.failures["out of context"]:
        means["out of context"] = _make_formatter(Score.failure_rate, "out of context")
    reported: Measures = {name.replace("_", " "): _make_formatter(Score.mean_report, name) for name in overall.reports}
    if all(map(overall.reports_all, overall.reports)):
        yield "per match", means | reported
    else:
        yield "per match", means
        yield "if ended", reported  # matches that ended early report nothing
    usage: Measures = {}
    if overall.completion_tokens:
        usage["prompt tokens"] = lambda score: f"{compute_prompt_tokens_per_move(score):.1f}"
        usage["reply tokens"] = lambda score: _format_tokens(score.tokens_per_move())
    if overall.seconds:
        usage["seconds"] = lambda score: str(score.seconds_per_move())
    yield "per move", usage


def _format_tokens(estimate: Estimate) -> str:
    """Format an estimate in tokens with one decimal: `151.2 [148.0, 154.4]`."""
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]".replace("nan", "–")


def compute_prompt_tokens_per_move(score: Score) -> float:
    """Return the mean prompt tokens per reply, over replies with known counts."""
    return score.prompt_tokens / len(score.completion_tokens) if score.completion_tokens else math.nan


def _make_formatter(estimate: Callable[[Score, Any], Estimate], name: str) -> Callable[[Score], str]:
    """Return a function that formats `estimate` for this name, with its interval."""
    return lambda score: str(estimate(score, name))
