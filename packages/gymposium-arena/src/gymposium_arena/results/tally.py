"""Tally match records one at a time: outcomes by game, conduct by player, and losses according to reviews."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from gymposium.analysis.review import LossTally, ReviewCache, ReviewFile
from gymposium.errors import BadRecord
from gymposium.match.ending import FAILURES, EndingKind
from gymposium.plugins.command_line import format_command_line
from gymposium.records import Record
from gymposium.replies.reading import KINDS
from gymposium_arena.outcomes import MatchOutcome, read_outcomes
from gymposium_arena.results.model import Conduct, Interval, LostResult, PlayerLost, round_figure, round_known


@dataclass(slots=True)
class PlayerTally:
    """A player's conduct so far."""

    matches: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    repaired: int = 0
    forfeits: int = 0
    failures: Counter[EndingKind] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def to_conduct(self) -> Conduct:
        """Convert the tally to the model in `results.json`."""
        return Conduct(
            matches=self.matches,
            replies={kind: self.replies[kind] for kind in KINDS},
            repaired=self.repaired,
            forfeits=self.forfeits,
            failures={kind: self.failures[kind] for kind in FAILURES},
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
        )


@dataclass(slots=True)
class GameTally:
    """A game's matches so far."""

    outcomes: list[MatchOutcome] = field(default_factory=list)
    """Outcomes of all records, duplicates included."""
    finished: set[str] = field(default_factory=set)
    """Ids of the matches with a result."""
    broken: set[str] = field(default_factory=set)
    """Ids of matches that broke off, including those replayed since."""
    players: defaultdict[str, PlayerTally] = field(default_factory=lambda: defaultdict(PlayerTally))
    """Conduct in this game, by player."""


@dataclass(slots=True)
class BoardTally:
    """The matches of all games and the conduct of all players so far."""

    games: defaultdict[str, GameTally] = field(default_factory=lambda: defaultdict(GameTally))
    players: defaultdict[str, PlayerTally] = field(default_factory=lambda: defaultdict(PlayerTally))
    """Conduct in all games, by player."""

    def add(self, record: Record, corrected: tuple[float, ...] | None = None) -> None:
        """Add a record, with its luck-corrected utilities if known."""
        game = self.games[record.game]
        if record.ending.broke_off:
            game.broken.add(record.id)
            return
        game.finished.add(record.id)
        game.outcomes += (replace(outcome, corrected=corrected) for outcome in read_outcomes([record]))
        _count_conduct(record, game.players)
        _count_conduct(record, self.players)


def _count_conduct(record: Record, players: defaultdict[str, PlayerTally]) -> None:
    """Add a finished match to its players' conduct."""
    for name in dict.fromkeys(record.players):
        players[name].matches += 1
    for turn in record.turns:
        player = players[record.players[turn["seat"]]]
        player.replies[turn["reading"]] += 1
        player.repaired += "repaired" in turn
        prompt, completion = turn.get("tokens", (None, None))
        player.prompt_tokens += prompt or 0
        player.completion_tokens += completion or 0
    for failure in record.ending.failures:
        player = players[record.players[failure.seat or 0]]
        player.failures[failure.kind] += 1
        player.forfeits += failure is record.ending


_DIGITS = 6


@dataclass(slots=True)
class _ReviewedGame:
    """A game's reviewed matches so far."""

    file: ReviewFile
    """The first review file of the game."""
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
                + format_command_line("review", "BOARD", "--judge", file.judge)
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
