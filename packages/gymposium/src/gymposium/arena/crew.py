"""The worker processes of a tournament, supervised: whoever hangs or dies is replaced, and the rest goes on.

A thread cannot be stopped and shares its process's fate, so players are asked in processes. Where a player does not
answer in its time, or its process dies, the batch of matches is played again one by one in a new process. There the
ask is known, and with that knowledge the match is played to its end, which is a forfeit.
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
from gymposium.arena.worker import Asking, Ended, Message, Progress, Task, work

_SPAWN = get_context("spawn")
"""Each process from its own start: a fork of one with threads, or with torch, is not sound."""


def play_tasks(
    tasks: Iterable[Task], workers: int, plugins: Sequence[Path] = ()
) -> Iterator[tuple[Lineup, Progress | Ended]]:
    """Plays all tasks in so many processes, and yields what becomes of each lineup as it does. Where it is closed, or
    something is raised while it waits, every process is ended at once."""
    waiting, crew = deque(tasks), list[_Worker]()
    try:
        while waiting or crew:
            while waiting and len(crew) < workers:
                crew.append(_Worker(plugins, waiting.popleft()))
            _sleep(crew)
            for worker in [*crew]:
                for message in worker.listen():
                    if isinstance(message, Progress | Ended):
                        yield worker.lineup, message
                if worker.lost or worker.overdue:
                    crew.remove(worker)
                    again = worker.replaced()
                    if isinstance(again, Task):
                        waiting.appendleft(again)
                    else:
                        yield worker.lineup, again
                elif worker.idle and waiting:
                    worker.give(waiting.popleft())
                elif worker.idle:
                    crew.remove(worker)
                    worker.end()
    finally:
        for worker in crew:
            worker.end()


def _sleep(crew: Sequence[_Worker]) -> None:
    """Until somebody says something, or somebody's time is over."""
    deadlines = [worker.deadline for worker in crew if worker.deadline is not None]
    wait([worker.connection for worker in crew], max(0.0, min(deadlines) - monotonic()) if deadlines else None)


class _Worker:
    """One process, and what it does now."""

    def __init__(self, plugins: Sequence[Path], task: Task) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=work, args=(theirs, [*plugins]), name="tournament worker")
        # Ctrl-C reaches every process of a terminal; this one is to end the others, from their first moment on
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()  # so that the connection ends with the process
        self.lost = False
        """Whether the process has ended."""
        self.give(task)

    def give(self, task: Task) -> None:
        """Have it play this."""
        self._task, self.idle = task, False
        self._asking: Asking | None = None
        self.deadline: float | None = None
        """When the player that it asks must have answered."""
        with suppress(OSError):  # it has died already, which is heard when it is listened to
            self.connection.send(task)

    @property
    def lineup(self) -> Lineup:
        return self._task.lineup

    @property
    def overdue(self) -> bool:
        return self.deadline is not None and self.deadline <= monotonic()

    def listen(self) -> Iterator[Message]:
        """All that it has said by now."""
        try:
            while self.connection.poll():
                message: Message = self.connection.recv()
                self._asking = message if isinstance(message, Asking) else None
                self.deadline = None if self._asking is None else monotonic() + self._asking.seconds
                self.idle = isinstance(message, Ended)
                yield message
        except (EOFError, OSError):
            self.lost = True

    def end(self) -> str:
        """Stop the process, whatever it does. How it had ended, where it had already."""
        self._process.join(5 if self.lost else 0)
        code = self._process.exitcode
        self._process.kill()
        self._process.join()
        self.connection.close()
        return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name

    def replaced(self) -> Task | Ended:
        """End it. What is to be played in its stead, with what is known now; or why that cannot be."""
        how, task, asking = self.end(), self._task, self._asking
        if asking is None:
            return Ended(f"the process that played it ended ({how}) while no player was asked")
        if asking.which is None:
            return replace(task, careful=task.careful | {asking.batch})
        verdict = f"its process ended ({how})" if self.lost else None
        return replace(task, verdicts={**task.verdicts, asking.which: verdict})
