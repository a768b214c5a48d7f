"""Tally match records one at a time: outcomes by game and conduct by player."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from gymposium.match.ending import FAILURES, EndingKind
from gymposium.records import Record
from gymposium.replies.reading import KINDS
from gymposium_arena.outcomes import MatchOutcome, read_outcomes
from gymposium_arena.results.model import Conduct


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
        """Convert to the model in `results.json`."""
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
