"""Summarize a board's match reviews: how much its players' decisions gave away."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.analysis.review import LossTally, ReviewCache, ReviewFile
from gymposium.errors import BadRecord
from gymposium.plugins.command_line import command_line
from gymposium.records import Record
from gymposium_arena.outcomes import read_outcomes
from gymposium_arena.results.model import Interval, LostResult, PlayerLost, round_figure, round_known

_DIGITS = 6


@dataclass(slots=True)
class _ReviewedGame:
    """A game's reviewed matches so far."""

    file: ReviewFile
    """The first of its review files."""
    tally: LossTally = field(default_factory=LossTally)
    seen: set[tuple[tuple[str, ...], str]] = field(default_factory=set)


class BoardReviews:
    """Players' losses by game, collected one record at a time. As in ratings, duplicates count once, and adversaries'
    matches do not count."""

    def __init__(self, reviews: ReviewCache, adversaries: Collection[str]) -> None:
        self._reviews, self._adversaries = reviews, adversaries
        self._games: dict[str, _ReviewedGame] = {}

    def add(self, matches: Path, record: Record) -> None:
        """Add a match if it has a review. Raises `BadRecord` if a review file is invalid, or if a game's reviews are by
        different judges."""
        file, review = self._reviews.find(matches, record)
        if file is None or review is None or not set(record.players).isdisjoint(self._adversaries):
            return
        game = self._games.setdefault(record.game, _ReviewedGame(file))
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
        """Return the players' losses in a game; None without reviews."""
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
                        value=round_figure(lost.per_move, _DIGITS),
                        low=round_known(lost.low, _DIGITS),
                        high=round_known(lost.high, _DIGITS),
                    ),
                    failures=lost.failures,
                    per_failure=round_known(lost.per_failure, _DIGITS),
                )
                for lost in found.tally.players()
            ],
        )
