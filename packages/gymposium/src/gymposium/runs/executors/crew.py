"""The supervisor of a local executor's worker processes, which replaces those that hang or die.

Players are asked in worker processes, because a thread cannot be stopped. If a player times out or its process dies,
the batch is played again match by match in a new process, to find the failed ask. The match then finishes with a
forfeit for that ask.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from time import monotonic

from gymposium.runs.executors.protocol import PartResult, RunPart
from gymposium.runs.executors.starting import delay_ctrl_c
from gymposium.runs.executors.worker import BatchPlayed, Message, PartEnded, PlayerAsked, serve_parts
from gymposium.util.child_process import spawn_context

MOST_DEATHS = 3
"""Number of worker deaths, while no player is asked, that end a part."""
ENDING_SECONDS = 5.0
"""Number of seconds allowed for a process to exit."""


class WorkerPool:
    """Worker processes, started on demand and reused for later parts."""

    def __init__(self, workers: int) -> None:
        """Allow at most `workers` processes."""
        self._most = workers
        self._idle: list[_Worker] = []

    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        """Play parts and yield each when it is done.

        If the generator is closed or raises, every busy process is killed immediately."""
        source, again, running = iter(parts), deque[PartResult](), list[_Worker]()

        def next_part() -> PartResult | None:
            if again:
                return again.popleft()
            part = next(source, None)
            return None if part is None else PartResult(part)

        try:
            while True:
                while len(running) < self._most and (begun := next_part()) is not None:
                    running.append(self._take_worker())
                    running[-1].start_part(begun)
                if not running:
                    return
                _wait_for_workers(running)
                for worker in [*running]:
                    worker.listen()
                    if worker.has_ended or worker.is_overdue:
                        running.remove(worker)
                        begun = worker.abort_part()
                        if begun.error is None and begun.part.numbers:
                            again.append(begun)
                        else:
                            yield begun
                    elif (done := worker.done) is not None:
                        running.remove(worker)
                        self._idle.append(worker)
                        yield done
        finally:
            for worker in running:
                worker.end()

    def close(self) -> None:
        """Let all processes exit normally, so their libraries can release resources."""
        for worker in self._idle:
            worker.dismiss()
        for worker in self._idle:
            worker.end(ENDING_SECONDS)
        self._idle.clear()

    def _take_worker(self) -> _Worker:
        if self._idle:
            return self._idle.pop()
        with delay_ctrl_c():
            return _Worker()


def _wait_for_workers(running: Sequence[_Worker]) -> None:
    """Wait for the next message or deadline of any worker."""
    deadlines = [worker.deadline for worker in running if worker.deadline is not None]
    wait([worker.connection for worker in running], max(0.0, min(deadlines) - monotonic()) if deadlines else None)


class _Worker:
    """One worker process and its current part."""

    def __init__(self) -> None:
        context = spawn_context()
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=serve_parts, args=(theirs,), name="match worker")
        self._process.start()
        theirs.close()  # so that the connection closes with the process
        self.has_ended = False
        """True after the process has ended."""

    def start_part(self, begun: PartResult) -> None:
        """Send the part to the process. `begun` holds its results from an earlier process."""
        self._begun, self._since = begun, monotonic()
        self._left = begun.part.numbers
        self.done: PartResult | None = None
        """The part's result, once it is done."""
        self._asking: PlayerAsked | None = None
        self.deadline: float | None = None
        """Deadline for the player that is being asked; None if no player is asked or there is no limit."""
        with suppress(OSError):  # the process has died, which `listen` notices
            self.connection.send(begun.part)

    @property
    def is_overdue(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and self.deadline <= monotonic()

    def listen(self) -> None:
        """Handle the messages received so far."""
        try:
            while self.connection.poll():
                self._handle(self.connection.recv())
        except (EOFError, OSError):
            self.has_ended = True

    def _handle(self, message: Message) -> None:
        self._asking = message if isinstance(message, PlayerAsked) else None
        limit = None if self._asking is None else self._asking.seconds
        self.deadline = None if limit is None else monotonic() + limit
        if isinstance(message, BatchPlayed):
            self._left = tuple(number for number in self._left if number not in message.numbers)
            self._begun.lines += message.lines
            self._begun.faults.update(message.faults)
            self._begun.broken.update(message.broken)
        elif isinstance(message, PartEnded):
            self._stop_clock()
            self._begun.error, self._begun.stopped = message.error, message.stopped
            self.done = self._begun

    def _stop_clock(self) -> None:
        self._begun.seconds += monotonic() - self._since

    def dismiss(self) -> None:
        """Let the process exit."""
        with suppress(OSError):  # the process has died
            self.connection.send(None)

    def end(self, seconds: float = 0.0) -> str:
        """Stop the process if it does not exit within this time. If it had already ended, returns how."""
        self._process.join(ENDING_SECONDS if self.has_ended else seconds)
        code = self._process.exitcode
        self._process.kill()
        self._process.join()
        self.connection.close()
        return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name

    def abort_part(self) -> PartResult:
        """End the process and return the part with the matches that are left to play.

        The part includes the failed ask, or the reason why it cannot be played."""
        how, begun, asking = self.end(), self._begun, self._asking
        self._stop_clock()
        part = replace(begun.part, numbers=self._left)
        if not self._left:
            pass  # everything was played
        elif asking is None:
            begun.deaths += 1
            if begun.deaths == MOST_DEATHS:
                begun.error = f"its process ended {MOST_DEATHS} times while no player was asked, at last with {how}"
        elif asking.which is None:
            part = replace(part, careful=part.careful.union(asking.numbers))
        else:
            verdict = f"its process ended ({how})" if self.has_ended else None
            part = replace(part, verdicts={**part.verdicts, asking.which: verdict})
        begun.part = part
        return begun
