"""The protocol of executors, and the parts of a run that they play."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from gymposium.match import MatchJob
from gymposium.players.protocol import Player
from gymposium.records import RecordLine

T = TypeVar("T")
R = TypeVar("R")

Which = tuple[str, int, int]
"""Identifies one ask: match id, seat, and how often the seat was asked before."""


class PlannedMatches(Protocol):
    """Matches between the same players. It is pure data, from which every process makes the same jobs."""

    @property
    def id(self) -> str:
        """The beginning of the ids of the matches."""

    @property
    def players(self) -> tuple[str, ...]:
        """The names of the players."""

    def make_player(self, name: str) -> Player:
        """Make one of the players. A process makes each of them once."""

    def jobs(self, players: Sequence[Player], numbers: Sequence[int]) -> Iterable[MatchJob]:
        """The matches of these numbers. `players` are those of `self.players`, in order."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """Matches that one worker plays."""

    matches: PlannedMatches
    numbers: tuple[int, ...]
    """The numbers of the matches to play, in order."""
    at_once: int
    """Number of matches that are played side by side: the numbers from a multiple of it to the next."""
    watchdog: float | None
    """Time limit of an answer in seconds; None for no limit."""
    careful: frozenset[int] = frozenset()
    """Numbers of the matches that are played one by one and ask by ask, because in one of them a player did not answer
    or ended the process."""
    verdicts: Mapping[Which, str | None] = field(default_factory=dict)
    """Asks that are not repeated, with how the process ended, or None if there was no answer in time."""

    def batches(self) -> Iterator[tuple[int, ...]]:
        """The numbers of the matches that are played side by side."""
        batch: list[int] = []
        for number in self.numbers:
            alone = number in self.careful
            if batch and (alone or batch[-1] in self.careful or number // self.at_once != batch[-1] // self.at_once):
                yield tuple(batch)
                batch = []
            batch.append(number)
        if batch:
            yield tuple(batch)


@dataclass(slots=True)
class PartDone:
    """A part that was played, or as much of it as can be played."""

    part: RunPart
    lines: list[RecordLine] = field(default_factory=list)
    """The records of its matches, in order."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of failures in them, by player and kind: `("mcts-100", "in go it did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason."""
    stopped: bool = False
    """True if all matches of a batch broke off: the others would break off, too, because a server is gone or a player
    does not play this game."""
    error: str | None = None
    """Why the rest could not be played."""
    seconds: float = 0.0
    """Number of seconds for which a worker had the part."""
    deaths: int = 0
    """Number of worker processes that ended in it while no player was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStart:
    """What an executor is made with."""

    workers: int | None = None
    """The number of workers; None for one for each core."""
    plugins: tuple[Path, ...] = ()
    """One-file plugins that workers on other machines load. Processes of this machine load them by themselves
    (`gymposium.util.child_process`)."""
    address: str | None = None
    """The address of a cluster; None for the executor's default."""
    note: Callable[[str], object] = lambda text: None
    """Called with remarks for the user."""


class Executor(Protocol):
    """Plays parts of runs in workers. Players that hang or end their process cost their match alone."""

    def run(self, parts: Iterable[RunPart]) -> Iterator[PartDone]:
        """Play parts and yield each of them once when it is done, in any order. A part is taken from `parts` when a
        worker is free. If the iterator is closed, all work ends."""

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[int, R]]:
        """Call a function of a module with each item, and yield its results with the numbers of the items, in any
        order. Function, items and results are pickled. Raises what the function raises, and `GymposiumError` if a
        worker dies."""

    def close(self) -> None:
        """End all workers."""


@runtime_checkable
class RunsCommands(Protocol):
    """An executor that can run one command in several processes that work together, as torchrun does on a machine."""

    def run_command(self, arguments: Sequence[str], processes: int) -> int:
        """Run `gymposium ARGUMENTS` in several processes, which find each other by the environment variables that
        torchrun sets, with the plugins and permissions of this process, and print what the first one prints. Ctrl-C is
        passed on. If a process fails, the others are ended. Returns the exit status of the first process that fails,
        otherwise that of the first process. Raises `GymposiumError` if a process is lost."""
