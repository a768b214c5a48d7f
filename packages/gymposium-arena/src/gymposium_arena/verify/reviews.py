"""Compare stored reviews with recomputed ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from gymposium.analysis.review import MatchReview, ReviewFile, choose_judge, get_review_path, read_review
from gymposium.analysis.review.update import try_review
from gymposium.errors import GymposiumError
from gymposium.games.registry import load_named_game
from gymposium.records import Record, read_records
from gymposium.util.streams import stream
from gymposium_arena.board import Board
from gymposium_arena.verify.files import check_plain
from gymposium_arena.verify.findings import Finding

_ROUNDING = 1e-6
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
        and math.isclose(a.before, b.before, abs_tol=_ROUNDING)
        and math.isclose(a.after, b.after, abs_tol=_ROUNDING)
        for a, b in zip(one.decisions, other.decisions, strict=True)
    )
