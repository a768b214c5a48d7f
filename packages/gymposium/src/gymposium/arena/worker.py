"""The worker process of a tournament, which plays lineups and reports its progress.

A worker sends its supervisor (`gymposium.arena.supervisor`) a message before it asks a player and after the player has
answered. If a player does not answer or ends the process, the supervisor can tell which one it was, and starts another
process.
"""

from __future__ import annotations

import os
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
from gymposium.arena.starting import receive_no_ctrl_c
from gymposium.driver import Answer, Guard, MatchJob, PlayerFailure, play
from gymposium.players.protocol import Ask, Player
from gymposium.plugins.host import host
from gymposium.records import Record
from gymposium.watchdog import Watchdog

_PATIENCE = 4
"""Upper bound on the time limit of a batch, as a multiple of the limit of one ask. A batch that takes longer is played
again ask by ask, at no cost to its players."""

Which = tuple[str, int, int]
"""Identifies one ask: match id, seat, and how often the seat was asked before."""


@dataclass(frozen=True, slots=True)
class Task:
    """A lineup whose missing matches are to be played."""

    lineup: Lineup
    entries: Sequence[Entry]
    """The entries of the lineup's players, in order."""
    file: Path
    """The file of the lineup's matches."""
    careful: frozenset[int] = frozenset()
    """Numbers of the batches in which a player did not answer or ended the process. Their matches are played one by
    one, to find the ask at which it happened."""
    verdicts: Mapping[Which, str | None] = field(default_factory=dict)
    """Asks that are not repeated, with how the process ended, or None if there was no answer in time."""


@dataclass(frozen=True, slots=True)
class PlayerAsked:
    """Message: a player is being asked and has this many seconds to answer."""

    seconds: float
    batch: int
    """The number of the batch."""
    which: Which | None
    """The ask; None for a batch of matches."""


@dataclass(frozen=True, slots=True)
class PlayerAnswered:
    """Message: the player has answered."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Message: the progress of the lineup."""

    finished: int
    """Finished matches in the lineup's file."""
    played: int = 0
    """Matches played since the last message."""
    faults: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """Number of failures in them, by player and kind: `("mcts-100", "did not answer in time")`."""
    broken: Mapping[str, int] = field(default_factory=Counter)
    """Number of matches that broke off, by reason."""
    torn: bool = False
    """True if the file ended in an incomplete line, which has been removed."""


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """Message: the task is done, or cannot be continued."""

    error: str | None = None
    """Why the rest could not be played; None if the task is done."""


Message = PlayerAsked | PlayerAnswered | Progress | TaskEnded


def work(supervisor: Connection, plugins: Sequence[Path]) -> None:
    """Play tasks from the supervisor until it sends None. `plugins` are one-file plugins to load."""
    receive_no_ctrl_c()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for file in plugins:
        host().load_file(file)
    players: dict[str, Player] = {}
    while (task := supervisor.recv()) is not None:
        error = None
        try:
            _play(task, players, supervisor)
        except Exception as raised:  # noqa: BLE001 - reported; the next task is played
            error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"
        supervisor.send(TaskEnded(error))


def _end_with_parent() -> None:
    """End this process when its supervisor ends, so that it does not keep writing."""
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
            played = sorted(play(part, at_once=len(part), guard=guard), key=lambda result: places[result.job.id])
            file.append(map(Record.of, played))
            broken = Counter(result.ending.detail for result in played if result.ending.broke_off)
            faults = Counter(
                (result.job.players[failure.seat or 0].name, failure.advised(result.cut_off))
                for result in played
                for failure in result.ending.failures
            )
            finished += len(played) - broken.total()
            supervisor.send(Progress(finished, len(played), faults, broken))
            if broken.total() == len(played) > 1:
                return  # the next batch would break off too: a server is gone, or a player does not play this game


def _parts(task: Task, planned: Sequence[MatchJob], finished: set[str]) -> Iterator[tuple[int, bool, list[MatchJob]]]:
    """The batches of missing matches, as number, whether careful, and jobs. Their bounds do not depend on where an
    earlier run was stopped. In careful batches each match is a part of its own."""
    at_once = task.lineup.suite.at_once
    for batch, start in enumerate(range(0, len(planned), at_once)):
        missing = [job for job in planned[start : start + at_once] if job.id not in finished]
        careful = batch in task.careful
        for part in ([job] for job in missing) if careful else [missing] if missing else []:
            yield batch, careful, part


class SupervisedGuard(Guard):
    """A guard that reports to the supervisor whenever it asks a player. In careful batches it asks one ask at a time
    and does not repeat asks whose verdict is known."""

    def __init__(self, task: Task, batch: int, careful: bool, supervisor: Connection) -> None:
        self._task, self._batch, self._careful, self._supervisor = task, batch, careful, supervisor
        self._seconds = task.lineup.suite.watchdog

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        if not self._careful:
            self._supervisor.send(PlayerAsked(self._seconds * min(len(asks), _PATIENCE), self._batch, None))
            answers = super().answers(player, asks, watchdog)
            self._supervisor.send(PlayerAnswered())
            return answers
        return [self._answer(player, ask) for ask in asks]

    def _answer(self, player: Player, ask: Ask) -> Answer:
        which = (ask.key, ask.seat, ask.turn)
        if which in self._task.verdicts:
            how = self._task.verdicts[which]
            return None if how is None else PlayerFailure(how, own=True)
        self._supervisor.send(PlayerAsked(self._seconds, self._batch, which))
        [answer] = super().answers(player, [ask])
        self._supervisor.send(PlayerAnswered())
        return answer
