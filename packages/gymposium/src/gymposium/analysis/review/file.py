"""Review files: `matches.review.json` next to `matches.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gymposium.analysis.review.judge import Judge
from gymposium.analysis.review.match import MatchReview, compute_digest
from gymposium.games.protocol import Game
from gymposium.records import Record
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model
from gymposium.util.plain_file import plain_path

REVIEW_SUFFIX = ".review.json"
_REMEDY = "Remove it, or write it anew with  gymposium review."


class ReviewFile(FileModel):
    """Reviews of the matches in one file. All are of the same game and by the same judge."""

    format: Literal["gymposium-review-1"] = "gymposium-review-1"
    game: str
    """Full name of the game."""
    judge: str
    """`exact`, `cfr-N` or `search-N`."""
    table: str
    """Digest of the `cfr-N` table; empty for other judges."""
    exact: bool
    """True if the values are exact, False if the judge only estimates."""
    returns: tuple[float, float]
    """The game's minimum and maximum return."""
    open: bool
    """True for a perfect-information game, where one value per position describes both seats."""
    matches: dict[str, MatchReview]
    """Reviews by match id."""

    @classmethod
    def from_reviews(cls, game: Game, judge: Judge, matches: Mapping[str, MatchReview]) -> ReviewFile:
        """Build the review file for matches of this game by this judge."""
        return cls(
            game=game.name,
            judge=judge.name,
            table=judge.digest,
            exact=judge.exact,
            returns=game.utility_range,
            open=game.spec.information == "perfect" and game.spec.dynamics == "sequential",
            matches=dict(matches),
        )

    def is_by(self, game: Game, judge: Judge) -> bool:
        """Return whether the reviews belong to this game and this judge."""
        return (self.game, self.judge, self.table) == (game.name, judge.name, judge.digest)

    def find_review(self, record: Record) -> MatchReview | None:
        """Return a match's review, or None if it is missing or the record has changed since."""
        found = self.matches.get(record.id)
        return found if found is not None and found.record == compute_digest(record) else None

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        replace_text(path, self.model_dump_json() + "\n")


class ReviewCache:
    """A cache of reviews for several match files. Each file is read once."""

    def __init__(self) -> None:
        self._files: dict[Path, ReviewFile | None] = {}

    def find(self, matches: Path, record: Record) -> tuple[ReviewFile, MatchReview] | tuple[None, None]:
        """Return a match's review file and review.

        Both are None without a review, or if the record has changed since. Raises `BadRecord` if the reviews cannot be
        read."""
        if matches not in self._files:
            self._files[matches] = read_review(matches)
        file = self._files[matches]
        review = None if file is None else file.find_review(record)
        return (None, None) if file is None or review is None else (file, review)


def get_review_path(matches: Path) -> Path:
    """Return the path of a match file's reviews. Compressing the match file does not change it."""
    return matches.with_name(plain_path(matches).name.removesuffix(".jsonl") + REVIEW_SUFFIX)


def read_review(matches: Path) -> ReviewFile | None:
    """Read a match file's reviews, or return None. Raises `BadRecord` if they cannot be read."""
    path = get_review_path(matches)
    return read_model(path, ReviewFile, "reviews of matches", _REMEDY) if path.exists() else None
