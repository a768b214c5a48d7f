"""Stepping through a recorded match by decision, with replies, moves and chance outcomes.

`gymposium replay` and the viewer's pages show matches this way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gymposium.errors import BadRecord
from gymposium.games.protocol import Event, Match
from gymposium.match import EngineError, MatchResult, RunningMatch, Turn
from gymposium.records.record import Record
from gymposium.records.replay import (
    Script,
    describe_late_event,
    describe_wrong_ending,
    describe_wrong_event,
    describe_wrong_opening,
    load_record_game,
    make_replay_job,
)

T = TypeVar("T")


@dataclass(slots=True)
class RecordedReply:
    """One recorded reply and, if it is a retry, why the seat was asked again."""

    turn: Turn
    """The reply, as read by the driver."""
    reason: str | None
    """Why the seat's last reply was rejected, if this is a retry."""


@dataclass(slots=True)
class Decision(Generic[T]):
    """One decision in a match: the position, the seats to move, and their replies and moves.

    A match's last `Decision` is its end."""

    seen: T
    """The result of `look` for the match before the moves."""
    chance: list[str]
    """Chance outcomes since the previous decision."""
    seats: tuple[int, ...]
    """The seats to move; () at the end."""
    moves: dict[int, str] = field(default_factory=dict)
    """Each seat's move; {} if no move was made, because the match ended or broke off."""
    replies: dict[int, list[RecordedReply]] = field(default_factory=dict)
    """Each seat's replies, in order. All replies except the last were rejected. Seats without a reply are omitted."""
    opening: bool = False
    """True if the moves were drawn in the match's opening, without asking players."""
    played: MatchResult | None = None
    """The replayed match's result, in the decision that ended it; otherwise None."""


def replay_decisions(record: Record, look: Callable[[Match], T]) -> Iterator[Decision[T]]:
    """Replay a recorded match with the driver, and yield its decisions in order. The last one is the end of the match.

    `look` is called with the match at each decision, before the moves are made, and must not change it. Raises
    `GymposiumError` at the first event that does not follow from the recorded replies and seeds, and any error from the
    game's engine."""
    job = make_replay_job(load_record_game(record), record)
    running = RunningMatch(job)
    running.begin()
    if running.opening != record.opening:
        raise BadRecord(describe_wrong_opening(record, running.opening))
    steps = _DecisionBuilder(record, look)
    match, drawn = job.game.new(record.seed), running.match.events
    for _ in range(record.opening):
        step = steps.begin(match)
        step.opening = True
        match.apply(dict(drawn[steps.at : steps.at + len(step.seats)]))
        yield steps.end(step, match)
    match, script, played = running.match, Script(record), None
    while played is None:
        step = steps.begin(match)
        while played is None and len(match.events) == steps.at:
            reasons, heard = {ask.seat: ask.reason for ask in running.asks}, len(running.turns)
            running.answers = [script.next(ask.seat) for ask in running.asks]
            try:
                played = running.advance()
            except EngineError as error:
                played = error.played
            for turn in running.turns[heard:]:
                step.replies.setdefault(turn.seat, []).append(RecordedReply(turn, reasons[turn.seat]))
        if record.ending.broke_off and len(match.events) > len(record.events):
            yield steps.break_off(step, match)  # the engine failed here in the recorded match, but not in the replay
            return
        step.played = played
        yield steps.end(step, match)
    if not match.to_move():
        step = steps.begin(match)
        step.played = played
        yield step
    if played.ending.broke_off and not record.ending.broke_off:
        raise BadRecord(played.ending.detail)
    if len(record.events) > len(match.events):
        raise BadRecord(describe_late_event(record, len(match.events)))
    again = played.ending.broke_off and record.ending.broke_off  # at the same event, perhaps with other wording
    if played.ending != record.ending and not again:
        raise BadRecord(describe_wrong_ending(record, played.ending))


def replay_choices(record: Record, look: Callable[[Match], T]) -> Iterator[tuple[int, Decision[T], int, bool]]:
    """Yield each player's choice from `replay_decisions`: the decision's number, the decision, the seat, and whether
    its reply failed.

    After a failed reply, the match ended or a move was drawn. Skipped are moves in a random opening, and seats whose
    move was never made because another seat's reply ended the match. Raises the same errors as `replay_decisions`."""
    for step, decision in enumerate(replay_decisions(record, look)):
        for seat in () if decision.opening else decision.seats:
            replies = decision.replies.get(seat, [])
            drawn = bool(decision.moves and replies) and replies[-1].turn.reading != "move"
            ended = not decision.moves and record.ending.find_failure(seat) is not None
            if decision.moves or ended:
                yield step, decision, seat, drawn or ended


class _DecisionBuilder(Generic[T]):
    """A builder of decisions from a replay, which checks the replay's events against the record."""

    def __init__(self, record: Record, look: Callable[[Match], T]) -> None:
        self._record, self._look = record, look
        self._shown = 0
        """Number of events in earlier decisions."""
        self.at = 0
        """Number of events up to the current decision."""
        self._checked = 0

    def begin(self, match: Match) -> Decision[T]:
        """Return the current decision, still without replies and moves."""
        events = match.events
        self._check(events)
        self.at = len(events)
        return Decision(self._look(match), [event.move for event in events[self._shown :]], tuple(match.to_move()))

    def end(self, step: Decision[T], match: Match) -> Decision[T]:
        """Return the decision with its moves, unless the match ended or broke off in it."""
        moves = match.events[self.at : self.at + len(step.seats)]
        self._shown = self.at + len(moves)
        self._check(match.events[: self._shown])
        step.moves = dict(moves)
        return step

    def break_off(self, step: Decision[T], match: Match) -> Decision[T]:
        """Return the decision where the recorded match broke off, with its recorded moves."""
        recorded = match.events[: len(self._record.events)]
        self._check(recorded)
        step.moves = dict(recorded[self.at : self.at + len(step.seats)])
        return step

    def _check(self, events: Sequence[Event]) -> None:
        recorded = self._record.events
        for number, event in enumerate(events[self._checked :], start=self._checked):
            if number >= len(recorded):
                raise BadRecord(f"the record ends before event {number} ({event.move!r})")
            if event != recorded[number]:
                raise BadRecord(describe_wrong_event(self._record, number, event))
        self._checked = len(events)
