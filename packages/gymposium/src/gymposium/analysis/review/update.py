"""Creating and updating the reviews stored next to match files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.analysis.review.file import ReviewFile, get_review_path, read_review
from gymposium.analysis.review.judge import choose_judge
from gymposium.analysis.review.match import MatchReview, review_match
from gymposium.errors import BadRecord, GymposiumError
from gymposium.games.registry import load_named_game, needs_isolation
from gymposium.records import Record, read_records
from gymposium.runs.executors.protocol import Executor
from gymposium.util.isolated import call_isolated

A_PART = 16
"""Number of matches per review task."""


@dataclass(slots=True)
class ReviewedMatches:
    """A match file and its reviews."""

    matches: Path
    reviews: ReviewFile
    records: list[Record]
    """The matches that have a review."""
    new: int
    """Number of newly reviewed matches."""
    problems: list[str] = field(default_factory=list)
    """Matches that could not be replayed, with the reason."""


@dataclass(frozen=True, slots=True)
class _ReviewTask:
    """Matches of one game to review."""

    judge: str
    records: tuple[Record, ...]


def review_file(
    matches: Path,
    judge: str | None,
    executor: Executor,
    watch: Callable[[int, int], None] = lambda done, planned: None,
) -> ReviewedMatches:
    """Review a file's new or changed matches and write the review file next to it.

    `judge` is as in `choose_judge`. Reviews by another judge are replaced. A judge that searches runs on `executor`.
    `watch` is called with the numbers of reviewed and planned matches.

    Raises `NotJudged` if the game's moves cannot be judged, and `BadRecord` if the file has no finished match, or
    matches of several games."""
    records = [one for _, one in read_records(matches) if isinstance(one, Record) and not one.ending.broke_off]
    games = sorted({record.game for record in records})
    if len(games) != 1:
        if not games:
            raise BadRecord(f"{matches} has no finished match. Finish its run, or name another file.")
        raise BadRecord(f"{matches} has matches of {len(games)} games. Put each game in its own file.")
    game = load_named_game(games[0])
    chosen = choose_judge(game, judge)
    before = read_review(matches)
    kept = before if before is not None and before.is_by(game, chosen) else ReviewFile.from_reviews(game, chosen, {})
    missing = [record for record in records if kept.find_review(record) is None]
    found = {record.id: review for record in records if (review := kept.find_review(record)) is not None}
    result = ReviewedMatches(matches, kept, [], len(missing))
    parts = [_ReviewTask(chosen.name, tuple(missing[n : n + A_PART])) for n in range(0, len(missing), A_PART)]
    done = 0
    watch(done, len(missing))
    # each process makes the table once, which takes longer than judging by it
    reviewed = (
        map(_review_matches, parts)
        if chosen.exact
        else (reviews for _, reviews in executor.map(_review_matches, parts))
    )
    for reviews in reviewed:
        for match, made in reviews:
            if isinstance(made, str):
                result.problems.append(f"{match}: {made}")
            else:
                found[match] = made
        done += len(reviews)
        watch(done, len(missing))
    result.reviews = ReviewFile.from_reviews(game, chosen, {r.id: found[r.id] for r in records if r.id in found})
    result.records = [record for record in records if record.id in found]
    if missing or before is None:
        result.reviews.write(get_review_path(matches))
    return result


def _review_matches(part: _ReviewTask) -> list[tuple[str, MatchReview | str]]:
    """Return the review of each match, or why it could not be replayed."""
    return [(record.id, try_review(part.judge, record)) for record in part.records]


def try_review(judge: str, record: Record) -> MatchReview | str:
    """Return a match's review, or why it could not be replayed.

    If the game's engine can crash its process, the match is replayed in a separate process."""
    try:
        return (
            call_isolated(_review_match, judge, record)
            if needs_isolation(record.game)
            else _review_match(judge, record)
        )
    except GymposiumError as error:
        return str(error)


def _review_match(judge: str, record: Record) -> MatchReview:
    return review_match(record, choose_judge(load_named_game(record.game), judge))
