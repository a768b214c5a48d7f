"""The supervisor of a tournament's worker processes, which replaces those that hang or die.

Players are asked in worker processes, since a thread cannot be stopped. If a player does not answer in time, or its
process dies, the batch of matches is played again one by one in a new process. This finds the ask that failed; the
match is then played to its end with that ask counted as a failure, which is a forfeit.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic

from gymposium.arena.schedule import Lineup
from gymposium.arena.starting import ctrl_c_waits
from gymposium.arena.worker import Message, PlayerAsked, Progress, Task, TaskEnded, work

_SPAWN = get_context("spawn")
"""Workers are spawned: forking a process with threads, or with torch, is not safe."""
ENDING_SECONDS = 5.0
"""Number of seconds that a process which ends by itself may take."""


def play_tasks(
    tasks: Iterable[Task], workers: int, plugins: Sequence[Path] = ()
) -> Iterator[tuple[Lineup, Progress | TaskEnded]]:
    """Play all tasks in `workers` processes and yield the progress of each lineup as it is reported. If the generator
    is closed or raises, every process is ended at once."""
    waiting, running, leaving = deque(tasks), list[_Worker](), list[_Worker]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                with ctrl_c_waits():
                    running.append(_Worker(plugins, waiting.popleft()))
            _sleep(running)
            for worker in [*running]:
                for message in worker.listen():
                    if isinstance(message, Progress | TaskEnded):
                        yield worker.task.lineup, message
                if worker.lost or worker.overdue:
                    running.remove(worker)
                    again = worker.replaced()
                    if isinstance(again, Task):
                        waiting.appendleft(again)
                    else:
                        yield worker.task.lineup, again
                elif worker.idle and waiting:
                    worker.give(waiting.popleft())
                elif worker.idle:
                    running.remove(worker)
                    worker.dismiss()
                    leaving.append(worker)
    finally:
        for worker in running:
            worker.end()
        for worker in leaving:
            worker.end(ENDING_SECONDS)


def _sleep(running: Sequence[_Worker]) -> None:
    """Wait for the next message or deadline of any worker."""
    deadlines = [worker.deadline for worker in running if worker.deadline is not None]
    wait([worker.connection for worker in running], max(0.0, min(deadlines) - monotonic()) if deadlines else None)


class _Worker:
    """One worker process and its current task."""

    def __init__(self, plugins: Sequence[Path], task: Task) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=work, args=(theirs, [*plugins]), name="tournament worker")
        self._process.start()
        theirs.close()  # so that the connection ends with the process
        self.lost = False
        """True once the process has ended."""
        self.give(task)

    def give(self, task: Task) -> None:
        """Send a task to the process."""
        self.task, self.idle = task, False
        self._asking: PlayerAsked | None = None
        self.deadline: float | None = None
        """When the player being asked must have answered; None if no player is being asked."""
        with suppress(OSError):  # the process has died, which `listen` notices
            self.connection.send(task)

    @property
    def overdue(self) -> bool:
        """True if the deadline has passed."""
        return self.deadline is not None and self.deadline <= monotonic()

    def listen(self) -> Iterator[Message]:
        """Yield the messages that have arrived."""
        try:
            while self.connection.poll():
                message: Message = self.connection.recv()
                self._asking = message if isinstance(message, PlayerAsked) else None
                self.deadline = None if self._asking is None else monotonic() + self._asking.seconds
                self.idle = isinstance(message, TaskEnded)
                yield message
        except (EOFError, OSError):
            self.lost = True

    def dismiss(self) -> None:
        """Let the process end by itself, so that what its libraries hold is given back."""
        with suppress(OSError):  # the process has died
            self.connection.send(None)

    def end(self, seconds: float = 0.0) -> str:
        """Stop the process, unless it ends within this time. Returns how it ended, if it had already."""
        self._process.join(ENDING_SECONDS if self.lost else seconds)
        code = self._process.exitcode
        self._process.kill()
        self._process.join()
        self.connection.close()
        return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name

    def replaced(self) -> Task | TaskEnded:
        """End the process. Returns the task to play instead, with the failed ask noted, or why it cannot be played."""
        how, task, asking = self.end(), self.task, self._asking
        if asking is None:
            return TaskEnded(f"its process ended ({how}) while no player was asked")
        if asking.which is None:
            return replace(task, careful=task.careful | {asking.batch})
        verdict = f"its process ended ({how})" if self.lost else None
        return replace(task, verdicts={**task.verdicts, asking.which: verdict})
