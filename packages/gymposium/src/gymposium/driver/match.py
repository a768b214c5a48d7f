"""One match as the driver plays it: a generator that asks for replies and is sent them.

It knows the rules of play (who is asked, what a failed reply costs, how a match may end) and nothing of when or how
players are asked: that is a schedule's.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gymposium.driver.guard import Answer, PlayerFailure
from gymposium.driver.opening import open_match
from gymposium.driver.result import EngineError, MatchJob, MatchResult, Turn
from gymposium.ending import OVER, Ending
from gymposium.errors import tells_what_to_do
from gymposium.failures import Tally, forfeited
from gymposium.games.protocol import Match
from gymposium.players.protocol import Ask, MatchContext, legal_moves
from gymposium.prompt import prompt_for
from gymposium.reading import read, read_action


@dataclass(slots=True)
class Underway:
    """A match that is being played, for whoever shows it: to be looked at, never to be changed."""

    match: Match
    turns: list[Turn] = field(default_factory=list)
    penalties: dict[int, float] = field(default_factory=dict)
    """What each seat has paid so far."""
    opening: int = 0
    """Random plies with which it began."""


Asking = Generator[list[Ask], Sequence[Answer], MatchResult]


def play_match(job: MatchJob, underway: Underway | None = None) -> Asking:
    """Plays one match: yields the asks of all seats that must move, is sent their answers (None where the watchdog
    fired, a `PlayerFailure` where a guard caught what the player raised), returns the finished match, or what there is
    of it where a player could not be asked. An environment gives `underway` (with a new match in it) and sees there how
    it stands.

    Raises `EngineError` with the match so far where the game's engine fails."""
    try:
        if underway is None:
            match, opening = open_match(job.game, job.seed, job.opening)
            underway = Underway(match, opening=opening)
        return (yield from _play_match(job, underway))
    except Exception as error:
        if tells_what_to_do(error):
            raise
        # what a player raises does not pass through here: this is the game's own
        raise broken_off(job, underway, error) from error


def broken_off(job: MatchJob, underway: Underway | None, error: Exception) -> EngineError:
    """What is to be raised where the game's engine raised `error`: with the match so far, and nothing of it where
    the game could not even begin."""
    in_words = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if underway is None:
        return EngineError(MatchResult(job, [], [], (), Ending("broke off", detail=in_words)), error)
    return EngineError(_so_far(job, underway, in_words), error)


def _so_far(job: MatchJob, underway: Underway, error: str) -> MatchResult:
    events, turns, penalties = underway.match.events, underway.turns, underway.penalties
    ending = Ending("broke off", detail=error)
    return MatchResult(job, events, turns, (), ending, penalties, opening=underway.opening)


def _play_match(job: MatchJob, underway: Underway) -> Asking:
    game, match, turns, tally = job.game, underway.match, underway.turns, Tally(job.on_illegal)
    penalties = underway.penalties = tally.penalties
    unanswered: dict[int, Any] = {}
    sitting = MatchContext(match, job.id, job.seed_for_players, partial(broken_off, job, underway))
    while seats := match.to_move():
        tally.next_decision()
        moves: dict[int, str] = {}
        asks = [*map(sitting.ask, seats)]
        paid = match.returns() if job.note_pay else None
        while asks:
            replies = yield asks
            again: list[Ask] = []
            failures: list[Ending] = []
            for asked_one, reply in zip(asks, replies, strict=True):  # all are read, whoever fails first
                seat = asked_one.seat
                if reply is None:
                    failures.append(Ending("timed out", seat))
                    continue
                if isinstance(reply, PlayerFailure):
                    if not reply.own:
                        return _so_far(job, underway, reply.text)
                    failures.append(Ending("crashed", seat, reply.text))
                    continue
                if reply.finish_reason == "context":
                    failures.append(Ending("out of context", seat))
                    if reply.trace is not None:
                        unanswered[seat] = reply.trace
                    continue
                legal = legal_moves(asked_one)
                if reply.action is None:
                    cut_off = reply.finish_reason == "length"
                    reading = read(reply.text, legal, job.players[seat].reader, game.move_pattern, cut_off=cut_off)
                else:
                    reading = read_action(reply.action, match.legal_actions(seat), legal)
                before = None if paid is None else paid[seat]
                turns.append(Turn(seat, reading.kind, reply.text, reply.trace, reply.action, reply.usage, before))
                if reading.kind == "move" and reading.move is not None:
                    moves[seat] = reading.move
                    continue
                outcome = tally.failed(seat, can_draw=bool(legal))
                if outcome == "random" and legal:
                    moves[seat] = legal[int(asked_one.rng.random() * len(legal))]
                elif outcome == "again":
                    turns[-1].penalty = job.on_illegal.cost  # nothing where a retry is free
                    again.append(sitting.ask(seat, reading.reason(legal)))
                else:
                    failures.append(Ending("no legal move", seat))
            if failures:
                ending = forfeited(failures, sitting.seed)
                return MatchResult(
                    job, match.events, turns, match.returns(), ending, penalties, unanswered, opening=underway.opening
                )
            asks = again
        match.apply(moves)
    # not isinstance(match, Reports): asked of a protocol, that takes longer than a whole game of tic-tac-toe
    report = getattr(match, "report", None)
    reports = () if report is None else tuple(dict(report(seat)) for seat in range(game.seats))
    paid = match.returns()
    return MatchResult(job, match.events, turns, paid, OVER, penalties, reports=reports, opening=underway.opening)


@dataclass(slots=True)
class Live:
    """A match under way: what it waits for, and the replies that are there already."""

    job: MatchJob
    asking: Asking
    asks: list[Ask]
    replies: list[Answer]

    @classmethod
    def begin(cls, job: MatchJob, underway: Underway | None = None) -> Live:
        if len(job.players) != job.game.seats:
            raise ValueError(f"{job.game.name} has {job.game.seats} seats, but {len(job.players)} players were given.")
        asking = play_match(job, underway)
        asks = next(asking)  # every game asks at least once
        return cls(job, asking, asks, [None] * len(asks))

    def go_on(self) -> MatchResult | None:
        """Hand over the replies. The finished match, or None where it asks for more."""
        try:
            self.asks = self.asking.send(self.replies)
        except StopIteration as end:
            played: MatchResult = end.value
            return played
        self.replies = [None] * len(self.asks)
        return None


def prompt_hash(job: MatchJob, seat: int) -> str:
    """The digest of the prompt that this seat's player reads."""
    player = job.players[seat]
    return prompt_for(job.game, player.style, player.reader).hash
