"""Replay a logged match from its replies and chance outcomes.

A format module adds each event to a `LoggedMatch`, which raises at the first illegal one. The driver then replays the
replies and writes the record.
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
from gymposium.replies.reading import READERS, read_reply
from gymposium.util.isolated import is_isolated
from gymposium.util.streams import derive_seed
from gymposium_arena.audit.episode import fail

_READER = READERS["tags"]
"""A reader that finds no move in other libraries' texts; their moves are recorded as action indices."""


class NeedsIsolation(Exception):
    """Error for a match that must be replayed in a child process (`gymposium.util.isolated`)."""


@dataclass(slots=True)
class LoggedMatch:
    """A match rebuilt from the events in a log."""

    game: OpenSpielGame
    id: str
    agents: Sequence[str]
    on_illegal: str = "forfeit"
    seed: int | None = None
    """The logged seed, if any. Chance outcomes do not come from it but from the log."""
    match: OpenSpielMatch = field(init=False)
    """The current position."""
    answers: list[tuple[int, Answer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raise `NeedsIsolation` if an illegal log could make the game's engine abort this process."""
        if needs_isolation(self.game.name) and not is_isolated():
            raise NeedsIsolation
        if len(self.agents) != self.game.seats:
            named = "1 agent is" if len(self.agents) == 1 else f"{len(self.agents)} agents are"
            fail(f"{named} named ({', '.join(self.agents)}), but {self.game.name} has {self.game.seats} seats")
        self.match = self.game.begin(None)

    def add_chance(self, action: int) -> None:
        """Add a chance outcome. Raises `BadLog` if it is impossible at this position."""
        if not self.match.state.is_chance_node():
            fail(f"unexpected chance outcome {action}: seat {self.describe_to_move()} is to move")
        self._advance([action])

    def describe_to_move(self) -> str:
        """Return the seats to move as text: `0`, `0 and 1`, `no one` or `chance`."""
        if self.match.state.is_chance_node():
            return "chance"
        return " and ".join(map(str, self.match.to_move())) or "no one"

    def add_moves(self, actions: Mapping[int, int], texts: Mapping[int, str] | None = None) -> None:
        """Add the action of every seat to move, with the agents' texts if known. Raises `BadLog` for a wrong seat or an
        illegal action."""
        if not actions or actions.keys() != set(self.match.to_move()):
            if self.match.state.is_terminal():
                fail("the match is already over")
            moved = " and ".join(map(str, sorted(actions))) or "no one"
            fail(f"seat {moved} moves, but {self.describe_to_move()} is to move")
        if self.match.state.is_simultaneous_node():
            self._advance([actions.get(seat, -1) for seat in range(self.game.seats)])
        else:
            self._advance([*actions.values()])
        for seat, action in sorted(actions.items()):
            self.answers.append((seat, Reply(texts[seat] if texts else str(action), action=action)))

    def _advance(self, actions: list[int]) -> None:
        try:
            self.match.advance(actions)
        except BadRecord as error:
            fail(str(error).partition(": ")[2])

    def add_failure(self, seat: int, answer: Answer) -> None:
        """Add the failed answer of a seat to move."""
        if seat not in self.match.to_move():
            fail(f"seat {seat} answers, but {self.describe_to_move()} is to move")
        self.answers.append((seat, answer))

    def make_unparsable(self, text: str) -> Reply:
        """Return the reply for a text without a move. Raises `BadLog` if gymposium finds a move in it."""
        reading = read_reply(text, [], _READER, self.game.move_pattern)
        if reading.kind != "unparsable":
            fail(f"{text[:80]!r} is logged without a move, but gymposium finds one in it")
        return Reply(text)

    def play(self, versions: Mapping[str, str]) -> tuple[MatchResult, Record]:
        """Replay the match with the logged answers. `versions` holds versions of the software that played it.

        Raises `BadLog` if answers remain at the end. If the log has too few answers, the match breaks off."""
        guard = _LoggedAnswers({seat: deque() for seat in range(self.game.seats)})
        for seat, answer in self.answers:
            guard.pending[seat].append(answer)
        job = MatchJob(
            id=self.id,
            game=self._make_game(),
            players=[ScriptedPlayer(agent, "full", _READER) for agent in self.agents],
            seed=derive_seed(0, self.id) if self.seed is None else self.seed,
            on_illegal=FailurePolicy.parse(self.on_illegal),
        )
        (result,) = play([job], guard=guard)
        if left := sum(map(len, guard.pending.values())):
            noun = "reply comes" if left == 1 else "replies come"
            fail(f"{left} {noun} after the end of the match ({result.ending.describe()})")
        prompts = [{"style": "full", "reader": _READER.name, "version": 0, "hash": ""}] * self.game.seats
        record = Record.from_match(result)
        return result, replace(record, prompts=prompts, versions={**record.versions, **versions})

    def _make_game(self) -> Game:
        if not self.game.spec.chance:
            return self.game
        return self.game.use_recorded_chance().recorded(self.match.events)


@dataclass(slots=True)
class _LoggedAnswers(Guard):
    """A guard that returns the logged answers."""

    pending: Mapping[int, deque[Answer]]

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        return [
            self.pending[ask.seat].popleft()
            if self.pending[ask.seat]
            else PlayerFailure(f"the log ends where seat {ask.seat} is to move", own=False)
            for ask in asks
        ]


def find_causes(record: Record) -> dict[str, str]:
    """Return the failure cause of each agent that failed in the match's last step, one of `CAUSES`."""
    found = record.ending.find_causes((turn["seat"], turn["reading"]) for turn in record.turns)
    return {record.players[seat]: cause for seat, cause in found.items()}


CAUSES = ("illegal", "unparsable", "cut off", *(kind for kind in FAILURES if kind != "no legal move"))
"""All causes of forfeits."""
