"""The schedule `streaming`: a match goes on as soon as its own answers are in.

A player that is `Concurrent` is handed each ask at once. Any other has a desk with a thread of its own, which hands
over, in one call, whatever is waiting when the last call has returned. All else happens in the caller's thread: it
takes the answers from one queue, lets their matches go on and begins new ones. So a match is only ever touched there,
and by the players of its own pending asks, who in a joint decision may look at it at the same time. What several
players share, such as a model, they have to guard themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

from gymposium.driver.guard import Answer, Guard, PlayerFailure, checked
from gymposium.driver.match import Live
from gymposium.driver.result import EngineError, MatchJob, MatchResult
from gymposium.driver.rounds import answers_of, told
from gymposium.players.protocol import Ask, Concurrent, Player, Reply
from gymposium.watchdog import Watchdog

if TYPE_CHECKING:
    from concurrent.futures import Future


def streaming(
    jobs: Iterable[MatchJob], at_once: int, watchdog: Watchdog | None, guard: Guard | None
) -> Iterator[MatchResult]:
    """As `gymposium.driver.play`.

    Where it ends early, because a player or an engine failed or because nobody wants more matches, futures under
    way are cancelled. A call to `act` cannot be: it is let go, and its thread ends when it returns."""
    waiting = iter(jobs)
    table = _Table(None if watchdog is None else watchdog.seconds, guard)
    live = 0
    try:
        while True:
            while live < at_once and (job := next(waiting, None)) is not None:
                try:
                    table.ask(_Seated(Live.begin(job)))
                    live += 1
                except EngineError as error:
                    yield told(error, guard)
            if not live:
                return
            ended: list[MatchResult] = []
            failure: Exception | None = None
            for seated in table.answered():
                try:
                    played = seated.live.go_on()
                    if played is None:
                        table.ask(seated)
                    else:
                        ended.append(played)
                except EngineError as error:
                    if guard is None:
                        failure = error
                        break
                    ended.append(error.played)
                except Exception as error:  # noqa: BLE001 - raised below, once the matches that ended are told
                    failure = error
                    break
            if failure is None:
                table.hand_over()  # so that players are at it while somebody looks at the matches that ended
            live -= len(ended)
            yield from ended
            if failure is not None:
                raise failure
    finally:
        table.close()


class _Seated:
    """A match under way, and how many of its asks have no answer yet."""

    __slots__ = ("live", "missing")

    def __init__(self, live: Live) -> None:
        self.live = live
        self.missing = 0


@dataclass(slots=True, eq=False)
class _Pending:
    """One ask whose answer is awaited."""

    seated: _Seated
    index: int
    """Its place among the match's asks."""
    ask: Ask
    desk: _Desk | None = None
    """Where it was handed over; None for a concurrent player."""
    future: Future[Reply] | None = None
    """What a concurrent player gave for it."""
    deadline: float | None = None
    """When the watchdog fires; None where there is none, and while another call is under way at its desk."""


@dataclass(slots=True)
class _Answer:
    """The replies to some asks, or what their player raised."""

    pending: Sequence[_Pending]
    given: Sequence[Answer] | BaseException
    desk: _Desk | None = None
    """The desk whose call has returned."""


class _Desk:
    """What waits for a player that is asked by `act`, and the thread in which it is asked."""

    __slots__ = ("_answers", "_calls", "_guard", "_player", "busy", "overdue", "waiting")

    def __init__(self, player: Player, answers: SimpleQueue[_Answer], guard: Guard | None) -> None:
        self._player, self._answers, self._guard = player, answers, guard
        self._calls: SimpleQueue[list[_Pending] | None] = SimpleQueue()
        self.waiting: list[_Pending] = []
        self.busy = False
        """Whether a call is under way."""
        self.overdue = False
        """Whether the watchdog has given up waiting for that call."""
        # a daemon, which nobody waits for when the program ends: a call that never returns cannot be stopped
        threading.Thread(target=self._work, name=f"player {player.name}", daemon=True).start()

    def call(self) -> Sequence[_Pending]:
        """Ask for all that waits."""
        handed, self.waiting, self.busy = self.waiting, [], True
        self._calls.put(handed)
        return handed

    def close(self) -> None:
        """Let the thread end, once a call under way has returned."""
        self._calls.put(None)

    def _work(self) -> None:
        while (handed := self._calls.get()) is not None:
            given: Sequence[Answer] | BaseException
            try:
                given = answers_of(self._player, [pending.ask for pending in handed], guard=self._guard)
            except BaseException as error:  # noqa: BLE001 - raised where the matches are played
                given = error
            self._answers.put(_Answer(handed, given, self))


class _Table:
    """Everybody who is asked, and every answer that is awaited."""

    def __init__(self, seconds: float | None, guard: Guard | None) -> None:
        """`seconds` is the watchdog's limit for each ask."""
        self._seconds, self._guard = seconds, guard
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._players: dict[int, tuple[Player, Concurrent | _Desk]] = {}
        self._pending: set[_Pending] = set()

    def ask(self, seated: _Seated) -> None:
        """Ask for all that the match waits for; what is for a desk goes out with `hand_over`."""
        seated.missing = len(seated.live.asks)
        for index, ask in enumerate(seated.live.asks):
            pending = _Pending(seated, index, ask)
            self._pending.add(pending)
            player = seated.live.job.players[ask.seat]
            whom = self._whom(player)
            if isinstance(whom, _Desk):
                pending.desk = whom
                whom.waiting.append(pending)
                if whom.overdue:
                    self._start_clock([pending])
            else:
                self._start_clock([pending])
                self._submit(pending, whom, player)

    def hand_over(self) -> None:
        """Let every desk whose last call has returned ask for what waits there."""
        for _, whom in self._players.values():
            if isinstance(whom, _Desk) and whom.waiting and not whom.busy:
                self._start_clock(whom.call())

    def answered(self) -> list[_Seated]:
        """Wait for answers, and give the matches that can go on now, all their answers being there. Raises what
        a player raised."""
        self.hand_over()
        can_go_on: list[_Seated] = []
        while not can_go_on:
            for answer in self._next_answers():
                if answer.desk is not None:
                    answer.desk.busy = answer.desk.overdue = False
                awaited = [pending for pending in answer.pending if pending in self._pending]
                if not awaited:
                    continue  # too late, be it a reply or an error
                if isinstance(answer.given, BaseException):
                    raise answer.given
                for pending, reply in zip(answer.pending, answer.given, strict=True):
                    self._settle(pending, reply, can_go_on)
            self._fire(can_go_on)
            self.hand_over()
        return can_go_on

    def close(self) -> None:
        """Nothing is awaited any more."""
        left, self._pending = self._pending, set()
        for pending in left:
            if pending.future is not None:
                pending.future.cancel()
        for _, whom in self._players.values():
            if isinstance(whom, _Desk):
                whom.close()

    def _whom(self, player: Player) -> Concurrent | _Desk:
        known = self._players.get(id(player))
        if known is None:
            whom = player if isinstance(player, Concurrent) else _Desk(player, self._answers, self._guard)
            known = self._players[id(player)] = (player, whom)
        return known[1]

    def _submit(self, pending: _Pending, whom: Concurrent, player: Player) -> None:
        try:
            pending.future = whom.submit(pending.ask)
        except (Exception, SystemExit) as error:  # whatever a stranger's player may raise
            if self._guard is None:
                raise
            self._answers.put(_Answer([pending], [PlayerFailure.of(error, pending.ask, player)]))
        else:
            pending.future.add_done_callback(partial(self._done, pending, player))

    def _done(self, pending: _Pending, player: Player, future: Future[Reply]) -> None:
        """In whatever thread the player made its reply."""
        given: Sequence[Answer] | BaseException
        try:
            given = [future.result()] if self._guard is None else checked(player, [future.result()], 1)
        except BaseException as error:  # noqa: BLE001 - raised where the matches are played
            guarded = self._guard is not None and isinstance(error, Exception | SystemExit)
            given = [PlayerFailure.of(error, pending.ask, player)] if guarded else error
        self._answers.put(_Answer([pending], given))

    def _settle(self, pending: _Pending, reply: Answer, can_go_on: list[_Seated]) -> None:
        self._pending.discard(pending)
        seated = pending.seated
        seated.live.replies[pending.index] = reply
        seated.missing -= 1
        if not seated.missing:
            can_go_on.append(seated)

    def _next_answers(self) -> list[_Answer]:
        """All that is there, at least one, or none where the watchdog is to fire."""
        deadlines = [pending.deadline for pending in self._pending if pending.deadline is not None]
        wait = max(0.0, min(deadlines) - monotonic()) if deadlines else None
        answers: list[_Answer] = []
        try:
            answers.append(self._answers.get(timeout=wait))
            while True:
                answers.append(self._answers.get_nowait())
        except Empty:
            return answers

    # -- the watchdog

    def _start_clock(self, asked: Sequence[_Pending]) -> None:
        """From now on their player has its time: so much for each, all together."""
        if self._seconds is not None:
            deadline = monotonic() + self._seconds * len(asked)
            for pending in asked:
                pending.deadline = deadline

    def _fire(self, can_go_on: list[_Seated]) -> None:
        """Give up the asks whose time is over. What waits behind an overdue call has its own time from then on, for
        the player is not asked again before that call has returned."""
        if self._seconds is None:
            return
        now = monotonic()
        for pending in [one for one in self._pending if one.deadline is not None and one.deadline <= now]:
            self._settle(pending, None, can_go_on)
            if pending.future is not None:
                pending.future.cancel()
            desk = pending.desk
            if desk is None:
                continue
            if pending in desk.waiting:
                desk.waiting.remove(pending)
            elif not desk.overdue:
                desk.overdue = True
                self._start_clock(desk.waiting)
