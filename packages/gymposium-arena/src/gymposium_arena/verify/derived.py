"""Compare stored figures with recomputed ones: `results.json`, `exact.json` and reviews."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from gymposium.analysis.review import MatchReview, ReviewFile, choose_judge, get_review_path, read_review
from gymposium.analysis.review.update import try_review
from gymposium.errors import BadRecord, GymposiumError
from gymposium.games.registry import load_game, load_named_game
from gymposium.records import Record, read_records
from gymposium.util.streams import stream
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
from gymposium_arena.results.file import compute_results, read_results, results_file
from gymposium_arena.results.model import Measured
from gymposium_arena.verify.files import check_plain
from gymposium_arena.verify.findings import Finding, ResultsState
from gymposium_arena.verify.replay import PlayerPool
from gymposium_arena.yardsticks import exact_path, read_exact, try_measure_player

_ROUNDING = 1e-3
"""Tolerance for rounding of open-weight models on another machine."""


def check_exact(board: Board, entry: Entry, pool: PlayerPool) -> tuple[bool, list[Finding]]:
    """Recompute the figures in an entry's `exact.json`. Returns whether that was possible, and the findings."""
    where = str(exact_path(board, entry).relative_to(board.path))
    try:
        check_plain(exact_path(board, entry))
        stored = read_exact(board, entry)
    except BadRecord as error:
        return False, [Finding("results", where, str(error))]
    if strange := [name for name in stored if name not in entry.games]:
        return False, [Finding("results", where, f"it has figures of {strange[0]}, which {entry.player} does not play")]
    player = pool.seat(entry, asked=True).player
    if player is None:
        return False, []
    return True, [
        Finding("results", where, f"in {name}, {what}")
        for name, figures in stored.items()
        for what in _compare_figures(entry, figures, try_measure_player(load_game(name), player))
    ]


def _compare_figures(entry: Entry, stored: Measured, again: Measured | None) -> Iterator[str]:
    if again is None:
        yield "it has figures, but the player cannot be measured in this game"
        return
    rounding = 0.0 if entry.repeats == "quickly" else _ROUNDING
    for name, value in stored.model_dump().items():
        now = getattr(again, name)
        floats = isinstance(value, float) and isinstance(now, float)
        if value != now and not (floats and math.isclose(value, now, rel_tol=0.0, abs_tol=rounding)):
            yield f"{name} is {value}, but a new measurement gives {now}"


_MAX_SHOWN = 12
"""Maximum number of listed differences."""


def check_results(board: Board) -> tuple[ResultsState, list[Finding]]:
    """Recompute the results and compare every figure."""
    path = results_file(board)
    if not path.exists():
        return "absent", []
    try:
        check_plain(path)
        stored, again = (results.model_dump(mode="json") for results in (read_results(path), compute_results(board)))
    except GymposiumError as error:
        return "differ", [Finding("results", path.name, str(error))]
    differences = list(islice(_find_differences("", stored, again), _MAX_SHOWN + 1))
    if len(differences) > _MAX_SHOWN:
        differences[_MAX_SHOWN] = "and more"
    findings = [Finding("results", path.name, what) for what in differences]
    return ("differ" if findings else "agree"), findings


def _find_differences(where: str, stored: Any, again: Any) -> Iterator[str]:
    """Yield a description of each difference between two JSON values."""
    if isinstance(stored, dict) and isinstance(again, dict) and stored.keys() == again.keys():
        for key in stored:
            yield from _find_differences(f"{where}.{key}".lstrip("."), stored[key], again[key])
    elif isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        for index, (one, other) in enumerate(zip(stored, again)):
            yield from _find_differences(f"{where}.{index}", one, other)
    elif stored != again:
        yield f"{where} is {_shorten(stored)}, but the records give {_shorten(again)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


_REVIEW_ROUNDING = 1e-6
"""Tolerance for rounding of a decision's value on another machine."""


def check_reviews(board: Board, matches: Path, sample: int, seed: int) -> Iterator[Finding]:
    """Review a file's matches again and yield the differences: all matches if the judge is exact, or else `sample` of
    them, drawn from `seed`."""
    path = get_review_path(matches)
    where = str(path.relative_to(board.path))
    try:
        check_plain(path)
        stored = read_review(matches)
        assert stored is not None, "it was there just now"
        records = {one.id: one for _, one in read_records(matches) if isinstance(one, Record)}
        if strange := next((match for match in stored.matches if match not in records), None):
            yield Finding("results", where, f"it reviews {strange}, which the match file does not have")
            return
        game = load_named_game(stored.game)
        judge = choose_judge(game, stored.judge)
    except GymposiumError as error:
        yield Finding("results", where, str(error))
        return
    if judge.digest != stored.table:
        yield Finding("results", where, f"its table is {stored.table}, but the recomputed one is {judge.digest}")
        return
    if stored.model_copy(update={"matches": {}}) != ReviewFile.from_reviews(game, judge, {}):
        yield Finding("results", where, f"its description of the game or of {stored.judge} is wrong")
        return
    known = [match for match in stored.matches if stored.find_review(records[match]) is not None]
    chosen = known if judge.exact else stream(seed, "reviews", where).sample(known, min(sample, len(known)))
    for match in chosen:
        again = try_review(stored.judge, records[match])
        if isinstance(again, str):
            yield Finding("results", f"{where} (match {match})", again)
        elif not _are_close(stored.matches[match], again):
            yield Finding("results", f"{where} (match {match})", "its review differs from the judge's")


def _are_close(one: MatchReview, other: MatchReview) -> bool:
    """Return whether two reviews are equal up to rounding."""
    if len(one.decisions) != len(other.decisions) or one.unjudged != other.unjudged:
        return False
    return all(
        a[:3] == b[:3]
        and math.isclose(a.before, b.before, abs_tol=_REVIEW_ROUNDING)
        and math.isclose(a.after, b.after, abs_tol=_REVIEW_ROUNDING)
        for a, b in zip(one.decisions, other.decisions, strict=True)
    )
