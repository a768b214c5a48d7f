"""The schedule `streaming`: a match continues as soon as its own answers arrive.

A `Concurrent` player gets each ask immediately. Any other player has a worker thread. Whenever its last call has
returned, the thread passes on all waiting asks in one call.

All other work happens in the caller's thread. It takes answers from one queue, advances their matches and begins new
ones. Only that thread and the players with pending asks use a match. If several seats move simultaneously, their
players may read the match concurrently. Players that share something, such as a model, must synchronize access to it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from gymposium.match.feed import JobFeed
from gymposium.match.guard import Answer, Guard, PlayerFailure
from gymposium.match.match import RunningMatch
from gymposium.match.result import EngineError, MatchJob, MatchResult
from gymposium.match.rounds import JobQueue, collect_answers, require_result
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import blame_errors, check_replies
from gymposium.players.protocol import Ask, Concurrent, Player, Reply

if TYPE_CHECKING:
    from concurrent.futures import Future


def play_streaming(
    jobs: Iterable[MatchJob], at_once: int, watchdog: Watchdog | None, guard: Guard | None
) -> Iterator[MatchResult]:
    """Run the schedule `streaming` of `gymposium.match.play`.

    If the schedule ends early, because a player or an engine fails or the caller stops, pending futures are canceled. A
    call to `act` cannot be canceled. Its thread is abandoned and ends when the call returns."""
    waiting = JobQueue(jobs, at_once)
    asker = _Asker(None if watchdog is None else watchdog.seconds, guard)
    running = 0
    if isinstance(jobs, JobFeed):
        jobs.listen(asker.wake)
    try:
        while True:
            while (job := waiting.take(running)) is not None:
                match = RunningMatch(job)
                try:
                    match.begin()
                except EngineError as error:
                    yield require_result(error, guard)
                else:
                    asker.claim_players(match)
                    asker.ask(match)
                    running += 1
            if not running:
                return
            ended: list[MatchResult] = []
            failure: Exception | None = None
            for match in asker.wait_for_answers():
                try:
                    result = match.advance(wait=False) if match.waiting is None else match.complete_moves()
                    if match.waiting is not None:
                        asker.wait_for(match, match.waiting)
                    elif result is None:
                        asker.ask(match)
                    else:
                        asker.release_players(match)
                        ended.append(result)
                except EngineError as error:
                    if guard is None and not error.is_world_failure:
                        failure = error
                        break
                    asker.release_players(match)
                    ended.append(error.played)
                except Exception as error:  # noqa: BLE001 - raised below, after yielding the finished matches
                    failure = error
                    break
            if failure is None:
                asker.start_idle_workers()  # so that players work while the caller handles the finished matches
            running -= len(ended)
            yield from ended
            if failure is not None:
                raise failure
    finally:
        asker.close()


@dataclass(slots=True, eq=False)
class _PendingAsk:
    """One unanswered ask."""

    match: RunningMatch
    index: int
    """The ask's index in `match.asks`."""
    ask: Ask
    worker: _PlayerWorker | None = None
    """The player's worker; None for a concurrent player."""
    future: Future[Reply] | None = None
    """The future returned by a concurrent player."""
    deadline: float | None = None
    """Time when the watchdog fires. None without a watchdog, and while the worker is busy with an earlier call."""


@dataclass(slots=True)
class _AnsweredAsks:
    """A queue entry: answers to some asks, the player's exception, a match whose moves are done, or new jobs."""

    pending: Sequence[_PendingAsk]
    answers: Sequence[Answer] | BaseException
    worker: _PlayerWorker | None = None
    """The worker whose call has returned, if any."""
    moved: RunningMatch | None = None
    """The match whose moves are done."""
    wakes: bool = False
    """Whether new jobs have arrived."""


class _PlayerWorker:
    """The asks that wait for a player without `submit`, and the thread that calls the player's `act`."""

    __slots__ = ("_answered", "_calls", "_guard", "_player", "busy", "overdue", "waiting")

    def __init__(self, player: Player, answered: SimpleQueue[_AnsweredAsks], guard: Guard | None) -> None:
        self._player, self._answered, self._guard = player, answered, guard
        self._calls: SimpleQueue[list[_PendingAsk] | None] = SimpleQueue()
        self.waiting: list[_PendingAsk] = []
        self.busy = False
        """True while a call is running."""
        self.overdue = False
        """True if the watchdog has abandoned the running call."""
        # a daemon thread, so that a call that never returns does not block exit
        threading.Thread(target=self._run, name=f"player {player.name}", daemon=True).start()

    def call(self) -> Sequence[_PendingAsk]:
        """Call the player once with all waiting asks."""
        handed, self.waiting, self.busy = self.waiting, [], True
        self._calls.put(handed)
        return handed

    def close(self) -> None:
        """Let the thread end after the current call."""
        self._calls.put(None)

    def _run(self) -> None:
        while (handed := self._calls.get()) is not None:
            answers: Sequence[Answer] | BaseException
            try:
                answers = collect_answers(self._player, [pending.ask for pending in handed], guard=self._guard)
            except BaseException as error:  # noqa: BLE001 - raised in the thread that plays the matches
                answers = error
            self._answered.put(_AnsweredAsks(handed, answers, self))


class _Asker:
    """A dispatcher that asks the players of all running matches and collects their answers."""

    def __init__(self, seconds: float | None, guard: Guard | None) -> None:
        """`seconds` is the watchdog's limit per ask."""
        self._seconds, self._guard = seconds, guard
        self._answered: SimpleQueue[_AnsweredAsks] = SimpleQueue()
        self._players: dict[int, tuple[Player, Concurrent | _PlayerWorker]] = {}
        self._pending: set[_PendingAsk] = set()
        self._missing: dict[RunningMatch, int] = {}
        """Number of unanswered asks per waiting match."""
        self._claims: Counter[int] = Counter()
        """Number of seats in running matches, by player."""

    def claim_players(self, match: RunningMatch) -> None:
        """Note the players of a match that begins."""
        self._claims.update(map(id, match.job.players))

    def release_players(self, match: RunningMatch) -> None:
        """Note that a match has ended. The threads of players without another match end."""
        for player in map(id, match.job.players):
            self._claims[player] -= 1
            if self._claims[player]:
                continue
            del self._claims[player]
            _, receiver = self._players.get(player, (None, None))
            if isinstance(receiver, _PlayerWorker) and not receiver.busy:  # an overdue call may still run
                receiver.close()
                del self._players[player]

    def wake(self) -> None:
        """Let `wait_for_answers` return. Any thread may call it."""
        self._answered.put(_AnsweredAsks((), (), wakes=True))

    def ask(self, match: RunningMatch) -> None:
        """Dispatch all asks of the match. Asks for workers are sent later, by `start_idle_workers`."""
        self._missing[match] = len(match.asks)
        for index, ask in enumerate(match.asks):
            pending = _PendingAsk(match, index, ask)
            self._pending.add(pending)
            player = match.job.players[ask.seat]
            receiver = self._find_receiver(player)
            if isinstance(receiver, _PlayerWorker):
                pending.worker = receiver
                receiver.waiting.append(pending)
                if receiver.overdue:
                    self._start_clock([pending])
            else:
                self._start_clock([pending])
                self._submit(pending, receiver, player)

    def wait_for(self, match: RunningMatch, moves: Future[Any]) -> None:
        """Report the match in `wait_for_answers` when its moves are done."""
        moves.add_done_callback(lambda _: self._answered.put(_AnsweredAsks((), (), moved=match)))

    def start_idle_workers(self) -> None:
        """Make every idle worker send its waiting asks."""
        for _, receiver in self._players.values():
            if isinstance(receiver, _PlayerWorker) and receiver.waiting and not receiver.busy:
                self._start_clock(receiver.call())

    def wait_for_answers(self) -> list[RunningMatch]:
        """Wait, and return the matches that have all their answers or whose moves are done. Returns early, perhaps with
        none, after `wake`.

        Raises any exception from a player."""
        self.start_idle_workers()
        complete: list[RunningMatch] = []
        woken = False
        while not complete and not woken:
            for batch in self._wait_for_answers():
                woken |= batch.wakes
                if batch.moved is not None:
                    complete.append(batch.moved)
                    continue
                if batch.worker is not None:
                    batch.worker.busy = batch.worker.overdue = False
                if not any(pending in self._pending for pending in batch.pending):
                    continue  # late replies or a late error
                if isinstance(batch.answers, BaseException):
                    raise batch.answers
                for pending, answer in zip(batch.pending, batch.answers, strict=True):
                    self._settle(pending, answer, complete)
            self._abandon_overdue(complete)
            self.start_idle_workers()
        return complete

    def close(self) -> None:
        """Abandon every pending ask."""
        left, self._pending = self._pending, set()
        for pending in left:
            if pending.future is not None:
                pending.future.cancel()
        for _, receiver in self._players.values():
            if isinstance(receiver, _PlayerWorker):
                receiver.close()

    def _find_receiver(self, player: Player) -> Concurrent | _PlayerWorker:
        known = self._players.get(id(player))
        if known is None:
            receiver = player if isinstance(player, Concurrent) else _PlayerWorker(player, self._answered, self._guard)
            known = self._players[id(player)] = (player, receiver)
        return known[1]

    def _submit(self, pending: _PendingAsk, receiver: Concurrent, player: Player) -> None:
        try:
            with blame_errors(player):
                pending.future = receiver.submit(pending.ask)
        except (Exception, SystemExit) as error:  # a third-party player may raise anything
            if self._guard is None:
                raise
            self._answered.put(_AnsweredAsks([pending], [PlayerFailure.from_error(error, pending.ask, player)]))
        else:
            pending.future.add_done_callback(partial(self._handle_future, pending, player))

    def _handle_future(self, pending: _PendingAsk, player: Player, future: Future[Reply]) -> None:
        """Handle a completed future, in the thread that completed it."""
        answers: Sequence[Answer] | BaseException
        try:
            with blame_errors(player):
                answers = check_replies(player, [future.result()], 1)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that plays the matches
            guarded = self._guard is not None and isinstance(error, Exception | SystemExit)
            answers = [PlayerFailure.from_error(error, pending.ask, player)] if guarded else error
        self._answered.put(_AnsweredAsks([pending], answers))

    def _settle(self, pending: _PendingAsk, answer: Answer, complete: list[RunningMatch]) -> None:
        self._pending.discard(pending)
        match = pending.match
        match.answers[pending.index] = answer
        self._missing[match] -= 1
        if not self._missing[match]:
            del self._missing[match]
            complete.append(match)

    def _wait_for_answers(self) -> list[_AnsweredAsks]:
        """Wait for at least one queue entry, and return all entries. Returns none if the watchdog must fire."""
        deadlines = [pending.deadline for pending in self._pending if pending.deadline is not None]
        wait = max(0.0, min(deadlines) - monotonic()) if deadlines else None
        batches: list[_AnsweredAsks] = []
        try:
            batches.append(self._answered.get(timeout=wait))
            while True:
                batches.append(self._answered.get_nowait())
        except Empty:
            return batches

    # -- the watchdog

    def _start_clock(self, asked: Sequence[_PendingAsk]) -> None:
        """Set one deadline for all these asks: the limit times their number."""
        if self._seconds is not None:
            deadline = monotonic() + self._seconds * len(asked)
            for pending in asked:
                pending.deadline = deadline

    def _abandon_overdue(self, complete: list[RunningMatch]) -> None:
        """Abandon the asks past their deadline.

        Asks that wait behind an overdue call get their deadline now, because the player is not called again before it
        returns."""
        if self._seconds is None:
            return
        now = monotonic()
        overdue = [pending for pending in self._pending if pending.deadline is not None and pending.deadline <= now]
        for pending in overdue:
            self._settle(pending, None, complete)
            if pending.future is not None:
                pending.future.cancel()
            worker = pending.worker
            if worker is None:
                continue
            if pending in worker.waiting:
                worker.waiting.remove(pending)
            elif not worker.overdue:
                worker.overdue = True
                self._start_clock(worker.waiting)
