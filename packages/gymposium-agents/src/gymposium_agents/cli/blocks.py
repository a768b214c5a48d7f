"""An evaluation as blocks of three measures, which fit a terminal of 80 columns whatever the number of seats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rich.table import Column, Table

from gymposium.cli.text import with_interval
from gymposium.scores import Estimate, Score
from gymposium_agents.evaluate import Evaluation

ACROSS = 3

Measures = dict[str, Callable[[Score], str]]


def blocks(evaluation: Evaluation) -> Iterator[Table]:
    """One table for each three measures of a kind, with a row over all matches and, where there are several seats, one
    for each of them."""
    rows = {"all": evaluation.overall}
    if len(evaluation.by_seat) > 1:
        rows |= {f"seat {seat}": score for seat, score in enumerate(evaluation.by_seat)}
    for corner, measures in _kinds(evaluation.overall):
        headings = list(measures)
        for start in range(0, len(headings), ACROSS):
            some = headings[start : start + ACROSS]
            table = Table(Column(corner, min_width=10), box=None, padding=(0, 2, 0, 0), pad_edge=False)
            for heading in some:
                table.add_column(heading, min_width=20)
            for name, score in rows.items():
                table.add_row(name, *(measures[heading](score) for heading in some))
            yield table


def _kinds(overall: Score) -> Iterator[tuple[str, Measures]]:
    """Measures by what they are shares or means of."""
    if "score" not in overall.results:
        yield "of matches", {result: _result(result) for result in ("win", "draw", "loss")}
    yield "of replies", {kind: _reading(kind) for kind in ("illegal", "unparsable", "cut off")}
    means: Measures = {"mean return": lambda score: with_interval(score.mean_return())}
    if overall.failures["out of context"]:
        means["out of context"] = lambda score: with_interval(score.failure_rate("out of context"))
    yield "per match", means | {name.replace("_", " "): _report(name) for name in overall.reports}
    usage: Measures = {}
    if overall.completion_tokens:
        usage["prompt tokens"] = lambda score: f"{prompt_tokens_per_move(score):.1f}"
        usage["reply tokens"] = lambda score: _roughly(score.tokens_per_move())
    if overall.seconds:
        usage["seconds"] = lambda score: with_interval(score.seconds_per_move())
    yield "per move", usage


def _roughly(estimate: Estimate) -> str:
    """`151.2 [148.0, 154.4]`: thousandths of a token would only make the table wide."""
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]".replace("nan", "–")


def prompt_tokens_per_move(score: Score) -> float:
    """How much was read for a reply, over those whose tokens were counted."""
    return score.prompt_tokens / len(score.completion_tokens) if score.completion_tokens else math.nan


def _result(result: str) -> Callable[[Score], str]:
    return lambda score: with_interval(score.result_rate(result))


def _reading(kind: str) -> Callable[[Score], str]:
    return lambda score: with_interval(score.reading_rate(kind))


def _report(name: str) -> Callable[[Score], str]:
    return lambda score: with_interval(score.mean_report(name))
