"""The curve of a reviewed match, which shows the position's value at each decision and its largest drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gymposium.analysis.review import Drop, MatchReview, ReviewFile, get_review_path, read_review
from gymposium.records import Record
from gymposium.runs.links import escapes_directory

WIDTH, HEIGHT = 720, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 10, 16


@dataclass(frozen=True, slots=True)
class CurveLine:
    """The line that shows the match's value for one seat."""

    seat: int
    points: str
    """The points attribute of an SVG polyline."""


@dataclass(frozen=True, slots=True)
class CurveMark:
    """A costly decision, with its position on the curve."""

    x: float
    y: float
    drop: Drop
    losing: bool
    """True if this decision lost the match."""


@dataclass(frozen=True, slots=True)
class ReviewCurve:
    """The drawing of a match's review."""

    lines: Sequence[CurveLine]
    marks: Sequence[CurveMark]
    """The largest drops, and the decision that lost the match, in match order."""
    ticks: Sequence[tuple[float, str]]
    """The height and text of each label on the value axis."""
    judge: str
    exact: bool
    open: bool
    """True if there is one line, for seat 0. Seat 1's values are its mirror image."""

    @classmethod
    def from_review(cls, review: MatchReview, file: ReviewFile, returns: Sequence[float]) -> ReviewCurve:
        """Draw the curve for a match's review. `returns` are the match's returns."""
        low, high = file.returns
        last = max((one.step for one in review.decisions), default=0) + 1
        seen: dict[int, list[tuple[int, float]]] = {}
        for one in review.decisions:
            seat = 0 if file.open else one.seat
            seen.setdefault(seat, []).append((one.step, one.before if one.seat == seat else low + high - one.before))
        for seat, points in seen.items():
            points.append((last, returns[seat]))
        values = [value for points in seen.values() for _, value in points]
        bottom, top = min(values, default=low), max(values, default=high)
        if top - bottom < 1e-9:
            bottom, top = low, high

        def scale_step(step: int) -> float:
            return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * step / last, 1)

        def scale_value(value: float) -> float:
            return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (top - value) / (top - bottom), 1)

        losing = review.find_losing_decision(returns, low, high, exact=file.exact)
        drops = {drop.decision: drop for drop in (*review.find_drops(low, high), *([losing] if losing else []))}
        marks = []
        for decision, drop in sorted(drops.items(), key=lambda item: item[0].step):
            seat = 0 if file.open else decision.seat
            value = decision.before if decision.seat == seat else low + high - decision.before
            marks.append(CurveMark(scale_step(decision.step), scale_value(value), drop, drop == losing))
        middle = (low + high) / 2
        ticks = {top, bottom} | ({middle} if bottom < middle < top else set())
        return cls(
            [
                CurveLine(seat, " ".join(f"{scale_step(step)},{scale_value(value)}" for step, value in seen[seat]))
                for seat in sorted(seen)
            ],
            marks,
            [(scale_value(value), f"{value:+.2g}" if value else "0") for value in sorted(ticks)],
            file.judge,
            file.exact,
            file.open,
        )


def draw_curve(record: Record, matches: Path, directory: Path) -> ReviewCurve | None:
    """Return the curve of a recorded match, or None if it has no review.

    `matches` is the match's file, `directory` the viewed folder. Raises `BadRecord` for an unreadable review."""
    path = get_review_path(matches)
    if not path.exists() or escapes_directory(path, directory if directory.is_dir() else directory.parent):
        return None
    state = path.stat()
    file = _read_reviews(matches, state.st_mtime_ns, state.st_size)
    review = None if file is None else file.find_review(record)
    return None if file is None or review is None else ReviewCurve.from_review(review, file, record.returns)


@lru_cache(maxsize=4)
def _read_reviews(matches: Path, changed: int, size: int) -> ReviewFile | None:
    """Return a file's reviews, cached by modification time and size."""
    return read_review(matches)
