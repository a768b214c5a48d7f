"""Comparisons of the trained policy with other policies, deal by deal, for the verdict on a run."""

from __future__ import annotations

from dataclasses import astuple

from gymposium.games.protocol import Game
from gymposium.records import Problem, read_records
from gymposium.records.scores import estimate_gain
from gymposium.runs.results import AFTER
from gymposium_agents.players.evaluate import find_seat
from gymposium_train.run.best import Series
from gymposium_train.run.measures import list_panel, make_match_tag
from gymposium_train.run.under_way import RunContext


def add_gains(run: RunContext, what: str) -> None:
    """Add the trained policy's gain in mean return over `what` to the results, for each game and opponent. Also add the
    range of each game's returns. Both policies were measured on the same deals."""
    gains: dict[str, dict[str, list[float]]] = {}
    both = _read_returns(run, what), _read_returns(run, AFTER)
    for game in run.games:
        gains[game.name] = {}
        for opponent in list_panel(run.config.evaluation, game):
            before, after = (series[game.name, opponent] for series in both)
            gains[game.name][opponent] = list(astuple(estimate_gain(before, after, game.seats, game.utility_range)))
    known = run.directory.results().get("gains", {})
    ranges = {game.name: list(game.utility_range) for game in run.games}
    run.directory.add_results(gains={**known, what: gains}, ranges=ranges)


def _read_returns(run: RunContext, what: str) -> dict[tuple[str, str], Series]:
    """Return a policy's returns for each game and opponent, from the records of its evaluation."""
    found: dict[tuple[str, str], Series] = {}
    by_tag: dict[str, tuple[Game, list[float | None]]] = {}
    for game in run.games:
        for opponent, matches in list_panel(run.config.evaluation, game).items():
            series: list[float | None] = [None] * matches
            found[game.name, opponent] = series
            by_tag[make_match_tag(run, what, game, opponent)] = game, series
    if by_tag:
        for _, record in read_records(run.directory.matches("eval")):
            if isinstance(record, Problem) or record.ending.broke_off:
                continue
            tag, _, number = record.id.rpartition("-")
            if tag in by_tag:
                game, series = by_tag[tag]
                series[int(number)] = record.returns[find_seat(int(number), game)]
    return found
