"""Scorers: a match's figures, read from its record."""

from __future__ import annotations

import json
from collections.abc import Mapping

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from gymposium.records import Record
from gymposium_inspect.naming import name_in_gymposium
from gymposium_inspect.playing import RECORD
from gymposium_inspect.seats import MatchSeat

FORFEITS = ("illegal", "unparsable", "cut off", "out of context")
"""The causes of a model's forfeit."""
_METRICS = {"*": [mean(), stderr(cluster="seed")]}
"""Metrics of each figure. Matches with the same seed are one cluster."""


def compute_figures(record: Record, seat: int) -> dict[str, float]:
    """Return a finished match's figures for a seat. A game's figures always have the same names:

    - `return`
    - `win`, `draw` and `loss`, in games with several seats
    - `forfeit`, and one figure for each cause of a forfeit
    - `failed_replies`, the number of replies without a legal move"""
    result, ending = record.results[seat], record.ending
    found = {"return": float(record.returns[seat])}
    if result != "score":
        found |= {name: float(result == name) for name in ("win", "draw", "loss")}
    readings = [turn["reading"] for turn in record.turns if turn["seat"] == seat]
    cause = ending.find_causes((seat, reading) for reading in readings).get(seat) if ending.seat == seat else None
    found["forfeit"] = float(ending.seat == seat)
    found |= {f"forfeit_{name.replace(' ', '_')}": float(cause == name) for name in FORFEITS}
    found["failed_replies"] = float(sum(reading != "move" for reading in readings))
    return found


@scorer(metrics=_METRICS, name="outcome")
@name_in_gymposium
def outcome() -> Scorer:
    """Return the scorer of a match's return, result and forfeits. A match is unscored if it broke off or if one of
    Inspect's limits stopped it."""

    async def score(state: TaskState, target: Target) -> Score:
        record = read_record(state.store.get(RECORD))
        if isinstance(record, Score):
            return record
        seat = MatchSeat.from_metadata(state.metadata).seat
        told = record.ending.describe(lambda other: "The model" if other == seat else f"Seat {other}", record.cut_off)
        return Score(value={**compute_figures(record, seat)}, answer=record.results[seat], explanation=told)

    return score


@scorer(metrics=_METRICS, name="report")
@name_in_gymposium
def report() -> Scorer:
    """Return the scorer of a world's reported figures. A match without a report, such as a
    forfeited one, is unscored."""

    async def score(state: TaskState, target: Target) -> Score:
        record = read_record(state.store.get(RECORD))
        if isinstance(record, Score):
            return record
        seat = MatchSeat.from_metadata(state.metadata).seat
        if not record.reports:
            return Score.unscored(reason="no report", explanation=record.ending.describe())
        return Score(value={**record.reports[seat]})

    return score


def read_record(stored: Mapping[str, object] | None) -> Record | Score:
    """Return a finished match's record from a sample's store, or the score of a sample without one. Raises `BadRecord`
    if the stored value is not a record."""
    if stored is None:
        return Score.unscored(reason="unfinished", explanation="The match did not end: Inspect stopped the sample.")
    record = Record.parse(json.dumps(stored))
    if record.ending.broke_off:
        return Score.unscored(reason="broke off", explanation=record.ending.describe())
    return record
