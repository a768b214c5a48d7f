"""The reviews beside a board's matches, and what its players gave away according to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.analysis.review import LostTally, ReviewFile, Reviews
from gymposium.errors import BadRecord
from gymposium.plugins.command_line import command_line
from gymposium.records import Record
from gymposium_arena.outcomes import read_outcomes
from gymposium_arena.results.model import Interval, LostResult, PlayerLost, rounded

_DIGITS = 6


@dataclass(slots=True)
class _Game:
    """A game's reviewed matches so far."""

    file: ReviewFile
    """The first of its review files."""
    tally: LostTally = field(default_factory=LostTally)
    seen: set[tuple[tuple[str, ...], str]] = field(default_factory=set)


class BoardReviews:
    """Counts what a board's players gave away, one record at a time. As in ratings, repeated matches count once, and
    adversaries' matches do not count."""

    def __init__(self, reviews: Reviews, adversaries: Collection[str]) -> None:
        self._reviews, self._adversaries = reviews, adversaries
        self._games: dict[str, _Game] = {}

    def add(self, matches: Path, record: Record) -> None:
        """Count a match if it has a review. Raises `BadRecord` if the reviews cannot be read, or if a game's reviews
        are by different judges."""
        file, review = self._reviews.find(matches, record)
        if file is None or review is None or not set(record.players).isdisjoint(self._adversaries):
            return
        game = self._games.setdefault(record.game, _Game(file))
        if (file.judge, file.table) != (game.file.judge, game.file.table):
            raise BadRecord(
                f"{matches} was reviewed by {file.judge}, but other matches of {record.game} by {game.file.judge} or "
                f"another table. Review all of them with one judge: "
                + command_line("review", "BOARD", "--judge", file.judge)
            )
        for outcome in read_outcomes([record]):
            key = (outcome.players, outcome.digest)
            if key not in game.seen:
                game.seen.add(key)
                game.tally.add(record.players, record.seed, review, *file.returns)

    def find_losses(self, game: str) -> LostResult | None:
        """Return what the players gave away in a game; None if none of its matches was reviewed."""
        found = self._games.get(game)
        if found is None:
            return None
        return LostResult(
            judge=found.file.judge,
            table=found.file.table,
            exact=found.file.exact,
            matches=found.tally.matches,
            players=[
                PlayerLost(
                    player=lost.player,
                    matches=lost.matches,
                    moves=lost.moves,
                    per_move=Interval(
                        value=rounded(lost.per_move, _DIGITS), low=_figure(lost.low), high=_figure(lost.high)
                    ),
                    failures=lost.failures,
                    per_failure=_figure(lost.per_failure),
                )
                for lost in found.tally.players()
            ],
        )


def _figure(value: float | None) -> float | None:
    return None if value is None else rounded(value, _DIGITS)
