"""A match as reported by a log: the replies of its seats and the outcomes of chance, in order.

The format's module reports each event to a `LoggedMatch`, which raises at the first event that breaks the rules. The
driver then replays the reported replies and writes the record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gymposium.errors import BadRecord
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Game
from gymposium.games.registry import needs_isolation
from gymposium.match import Answer, Guard, MatchJob, MatchResult, PlayerFailure, play
from gymposium.match.ending import FAILURES
from gymposium.match.failures import FailurePolicy
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record, ScriptedPlayer
from gymposium.replies.reading import READERS, read
from gymposium.util.isolated import is_isolated
from gymposium.util.streams import derive_seed
from gymposium_arena.audit.episode import fail

_READER = READERS["tags"]
"""Reads no move in what other libraries' agents wrote. Their moves are recorded as indices beside the text."""


class NeedsIsolation(Exception):
    """The match must be replayed in another process (`gymposium.util.isolated`)."""


@dataclass(slots=True)
class LoggedMatch:
    """A match as reported by a log."""

    game: OpenSpielGame
    id: str
    agents: Sequence[str]
    on_illegal: str = "forfeit"
    seed: int | None = None
    """The episode's seed in the log, if any. It determines no chance here."""
    match: OpenSpielMatch = field(init=False)
    """The match so far."""
    answers: list[tuple[int, Answer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raise `NeedsIsolation` if a log could make the game's engine end this process."""
        if needs_isolation(self.game.name) and not is_isolated():
            raise NeedsIsolation
        if len(self.agents) != self.game.seats:
            named = "1 agent is" if len(self.agents) == 1 else f"{len(self.agents)} agents are"
            fail(f"{named} named ({', '.join(self.agents)}), but {self.game.name} has {self.game.seats} seats")
        self.match = self.game.begin(None)

    def chance(self, action: int) -> None:
        """Report an outcome of chance. Raises `BadLog` if this outcome is impossible at this point."""
        if not self.match.state.is_chance_node():
            fail(f"unexpected chance outcome {action}: seat {self.to_move()} is to move")
        self._advance([action])

    def to_move(self) -> str:
        """Return the seats to move in words: `0`, `0 and 1`, `no one`, or `chance`."""
        if self.match.state.is_chance_node():
            return "chance"
        return " and ".join(map(str, self.match.to_move())) or "no one"

    def moves(self, actions: Mapping[int, int], texts: Mapping[int, str]) -> None:
        """Report the moves of all seats to move. `texts` holds the agents' own words. Raises `BadLog` unless these are
        legal moves for these seats."""
        if not actions or actions.keys() != set(self.match.to_move()):
            if self.match.state.is_terminal():
                fail("the match is already over")
            moved = " and ".join(map(str, sorted(actions))) or "no one"
            fail(f"seat {moved} moves, but {self.to_move()} is to move")
        if self.match.state.is_simultaneous_node():
            self._advance([actions.get(seat, -1) for seat in range(self.game.seats)])
        else:
            self._advance([*actions.values()])
        for seat, action in sorted(actions.items()):
            self.answers.append((seat, Reply(texts[seat], action=action)))

    def _advance(self, actions: list[int]) -> None:
        try:
            self.match.advance(actions)
        except BadRecord as error:
            fail(str(error).partition(": ")[2])

    def failed(self, seat: int, answer: Answer) -> None:
        """Report that a seat to move gave no legal move."""
        if seat not in self.match.to_move():
            fail(f"seat {seat} answers, but {self.to_move()} is to move")
        self.answers.append((seat, answer))

    def unparsable(self, text: str) -> Reply:
        """Return the reply for a text with no move. Raises `BadLog` if gymposium reads a move in it."""
        reading = read(text, [], _READER, self.game.move_pattern)
        if reading.kind != "unparsable":
            fail(f"{text[:80]!r} is logged as no move, but gymposium reads a move in it")
        return Reply(text)

    def play(self, versions: Mapping[str, str]) -> tuple[MatchResult, Record]:
        """Replay the match with the reported replies. `versions` names the software that played it first.

        Raises `BadLog` if replies are left over. A match with too few replies breaks off."""
        guard = _Told({seat: deque() for seat in range(self.game.seats)})
        for seat, answer in self.answers:
            guard.answered[seat].append(answer)
        job = MatchJob(
            id=self.id,
            game=self._game(),
            players=[ScriptedPlayer(agent, "full", _READER) for agent in self.agents],
            seed=derive_seed(0, self.id) if self.seed is None else self.seed,
            on_illegal=FailurePolicy.parse(self.on_illegal),
        )
        (result,) = play([job], guard=guard)
        if left := sum(map(len, guard.answered.values())):
            noun = "reply comes" if left == 1 else "replies come"
            fail(f"{left} {noun} after the end of the match ({result.ending.describe()})")
        prompts = [{"style": "full", "reader": _READER.name, "version": 0, "hash": ""}] * self.game.seats
        record = Record.from_match(result)
        return result, replace(record, prompts=prompts, versions={**record.versions, **versions})

    def _game(self) -> Game:
        if not self.game.spec.chance:
            return self.game
        return self.game.use_recorded_chance().recorded(self.match.events)


@dataclass(slots=True)
class _Told(Guard):
    """A guard that gives the driver the reported answers."""

    answered: Mapping[int, deque[Answer]]

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        return [
            self.answered[ask.seat].popleft()
            if self.answered[ask.seat]
            else PlayerFailure(f"the log ends where seat {ask.seat} is to move", own=False)
            for ask in asks
        ]


def causes(record: Record) -> dict[str, str]:
    """Return the cause of failure of each agent that failed in a match's last step: `illegal`, `unparsable`, `cut off`,
    `timed out`, `out of context` or `crashed`."""
    found = record.ending.causes((turn["seat"], turn["reading"]) for turn in record.turns)
    return {record.players[seat]: cause for seat, cause in found.items()}


CAUSES = ("illegal", "unparsable", "cut off", *(kind for kind in FAILURES if kind != "no legal move"))
"""All causes of forfeits."""
