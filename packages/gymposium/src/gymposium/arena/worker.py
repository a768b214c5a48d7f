"""A worker process of a tournament: it plays the lineups that it is given and tells how far it is.

Before it asks a player it says so to whoever supervises it (`gymposium.arena.crew`), and again when it has an answer.
So a player that never answers, or takes the whole process down, is known, and another process goes on.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from gymposium.arena.entries import Entry, make_entrant
from gymposium.arena.matches import MatchesFile
from gymposium.arena.schedule import Lineup, jobs
from gymposium.driver import Answer, Guard, MatchJob, MatchResult, PlayerFailure, play
from gymposium.players.protocol import Ask, Player
from gymposium.plugins.host import host
from gymposium.records import Record
from gymposium.watchdog import Watchdog

_PATIENCE = 4
"""A batch of asks gets the time of so many single ones. What takes longer is played again one by one, and nobody loses
by that."""

Which = tuple[str, int, int]
"""One ask: its match, its seat, and how often that seat was asked before."""


@dataclass(frozen=True, slots=True)
class Task:
    """A lineup to be played, as far as its file does not hold it yet."""

    lineup: Lineup
    entries: Sequence[Entry]
    """Of the lineup's players, in order."""
    file: Path
    at_once: int
    watchdog: float
    careful: frozenset[int] = frozenset()
    """Numbers of the batches of matches in which a player did not answer, or took the process down. Their matches are
    played one by one, so that it is known in which."""
    verdicts: Mapping[Which, str | None] = field(default_factory=dict)
    """What is known by now: the asks that got no answer in time (None), or in which the process died, with a word on
    how. Their players are not asked again."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A player is asked, and has so many seconds."""

    seconds: float
    batch: int
    which: Which | None
    """The one ask; None where it is a batch of matches."""


@dataclass(frozen=True, slots=True)
class Answered:
    """It has answered."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the lineup is."""

    finished: int
    """Matches in its file that have come to an end."""
    played: int = 0
    """Matches that were played just now."""
    faults: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """How often each player failed in them, by how: `("mcts-100", "did not answer in time")`."""
    broken: Mapping[str, int] = field(default_factory=Counter)
    """Why how many of them broke off."""
    torn: bool = False
    """Whether its file ended in the middle of a line, which was cut off just now."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The task is done, as far as it could be."""

    error: str | None = None
    """Why its rest could not be played."""


Message = Asking | Answered | Progress | Ended


def work(supervisor: Connection, plugins: Sequence[Path]) -> None:
    """Play one task after the other, until there is none. `plugins` are one-file plugins."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor gets it as well, and ends this process
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for file in plugins:
        host().load_file(file)
    players: dict[str, Player] = {}
    while (task := supervisor.recv()) is not None:
        error = None
        try:
            _play(task, players, supervisor)
        except Exception as raised:  # noqa: BLE001 - told, and the next task is played
            error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"
        supervisor.send(Ended(error))


def _end_with_parent() -> None:
    """A process that nobody supervises must not go on writing."""
    parent = parent_process()
    assert parent is not None, "workers are started by multiprocessing"
    parent.join()
    os._exit(1)


def _play(task: Task, players: dict[str, Player], supervisor: Connection) -> None:
    for entry in task.entries:
        if entry.player not in players:
            players[entry.player] = make_entrant(entry)
    planned = jobs(task.lineup, [players[text] for text in task.lineup.players])
    with MatchesFile(task.file) as file:
        finished = sum(job.id in file.finished for job in planned)
        supervisor.send(Progress(finished, torn=file.torn))
        for batch, careful, part in _parts(task, planned, file.finished):
            guard = SupervisedGuard(task, batch, careful, supervisor)
            places = {job.id: place for place, job in enumerate(part)}
            played = sorted(play(part, at_once=len(part), guard=guard), key=lambda one: places[one.job.id])
            file.append(map(Record.of, played))
            broken = Counter(result.ending.detail for result in played if result.ending.broke_off)
            finished += len(played) - broken.total()
            supervisor.send(Progress(finished, len(played), _faults(played), broken))
            if broken.total() == len(played) > 1:
                return  # it will not go better with the next: a server is gone, or a player does not play this game


def _parts(task: Task, planned: Sequence[MatchJob], finished: set[str]) -> Iterator[tuple[int, bool, list[MatchJob]]]:
    """What is played side by side: batches that do not depend on where an earlier run was stopped, and single matches
    where care is needed."""
    for batch, start in enumerate(range(0, len(planned), task.at_once)):
        missing = [job for job in planned[start : start + task.at_once] if job.id not in finished]
        careful = batch in task.careful
        for part in ([job] for job in missing) if careful else [missing] if missing else []:
            yield batch, careful, part


def _faults(played: Sequence[MatchResult]) -> Counter[tuple[str, str]]:
    return Counter(
        (result.job.players[failure.seat or 0].name, failure.predicate)
        for result in played
        for failure in result.ending.failures
    )


class SupervisedGuard(Guard):
    """Tells the supervisor whom it asks. Where care is needed it asks one by one, and keeps to what is known of asks
    that cannot be answered."""

    def __init__(self, task: Task, batch: int, careful: bool, supervisor: Connection) -> None:
        self._task, self._batch, self._careful, self._supervisor = task, batch, careful, supervisor

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        if not self._careful:
            self._tell(Asking(self._task.watchdog * min(len(asks), _PATIENCE), self._batch, None))
            found = super().answers(player, asks, watchdog)
            self._tell(Answered())
            return found
        return [self._answer(player, ask) for ask in asks]

    def _answer(self, player: Player, ask: Ask) -> Answer:
        which = (ask.key, ask.seat, ask.turn)
        if which in self._task.verdicts:
            how = self._task.verdicts[which]
            return None if how is None else PlayerFailure(how, own=True)
        self._tell(Asking(self._task.watchdog, self._batch, which))
        [answer] = super().answers(player, [ask])
        self._tell(Answered())
        return answer

    def _tell(self, message: Message) -> None:
        self._supervisor.send(message)
