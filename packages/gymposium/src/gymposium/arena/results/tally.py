"""What is read off records for results: outcomes, broken-off matches, and how players behaved. One pass, one record in
memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gymposium.arena.outcomes import MatchOutcome, distinct, outcomes_of
from gymposium.arena.results.model import Conduct
from gymposium.ending import FAILURES, EndingKind
from gymposium.reading import KINDS
from gymposium.records import Record


@dataclass(slots=True)
class PlayerTally:
    """How one player behaved so far."""

    matches: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    forfeits: int = 0
    failures: Counter[EndingKind] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def conduct(self) -> Conduct:
        """The same as plain data."""
        return Conduct(
            matches=self.matches,
            replies={kind: self.replies[kind] for kind in KINDS},
            forfeits=self.forfeits,
            failures={kind: self.failures[kind] for kind in FAILURES},
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
        )


@dataclass(slots=True)
class GameTally:
    """What became of one game's matches."""

    outcomes: list[MatchOutcome] = field(default_factory=list)
    """Each match once."""
    duplicates: int = 0
    errors: int = 0
    """Matches that broke off and were not played again since."""


class BoardTally:
    """Everything so far."""

    def __init__(self) -> None:
        self.players: dict[str, PlayerTally] = {}
        self._outcomes: dict[str, list[MatchOutcome]] = {}
        self._broken: dict[str, set[str]] = {}
        self._played: dict[str, set[str]] = {}

    def add(self, records: Iterable[Record]) -> None:
        """Count some records."""
        for record in records:
            if record.ending.broke_off:
                self._broken.setdefault(record.game, set()).add(record.id)
                continue
            self._played.setdefault(record.game, set()).add(record.id)
            self._outcomes.setdefault(record.game, []).extend(outcomes_of([record]))
            self._behaved(record)

    def game(self, name: str) -> GameTally:
        """What became of this game's matches."""
        outcomes = self._outcomes.get(name, [])
        once = distinct(outcomes)
        broken = self._broken.get(name, set()) - self._played.get(name, set())
        return GameTally(once, len(outcomes) - len(once), len(broken))

    def player(self, name: str) -> PlayerTally:
        """How this player behaved."""
        return self.players.setdefault(name, PlayerTally())

    def _behaved(self, record: Record) -> None:
        for name in dict.fromkeys(record.players):
            self.player(name).matches += 1
        for turn in record.turns:
            player = self.player(record.players[turn["seat"]])
            player.replies[turn["reading"]] += 1
            prompt, completion = turn.get("tokens", (None, None))
            player.prompt_tokens += prompt or 0
            player.completion_tokens += completion or 0
        for failure in record.ending.failures:
            player = self.player(record.players[failure.seat or 0])
            player.failures[failure.kind] += 1
            player.forfeits += failure is record.ending
