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
"""Key of one ask: match id, seat, and the seat's number of earlier asks."""


class PlannedMatches(Protocol):
    """Matches between the same players. They are pure data, so every process creates the same jobs from them."""

    @property
    def id(self) -> str:
        """Prefix of the match ids."""

    @property
    def players(self) -> tuple[str, ...]:
        """Player names, one per seat of the first match."""

    def make_player(self, name: str) -> Player:
        """Make one of the players. A process makes each player once."""

    def jobs(self, players: Sequence[Player], numbers: Sequence[int]) -> Iterable[MatchJob]:
        """Return the jobs with these match numbers. `players` are the players named in `self.players`, in order."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """Matches that one worker plays."""

    matches: PlannedMatches
    numbers: tuple[int, ...]
    """Match numbers to play, in order."""
    at_once: int
    """Number of concurrent matches. A batch has the match numbers from one multiple of it to the next."""
    watchdog: float | None
    """Time limit per answer in seconds; None for no limit."""
    careful: frozenset[int] = frozenset()
    """Match numbers to play one by one and ask by ask, because one of their players timed out or crashed the
    process."""
    verdicts: Mapping[Which, str | None] = field(default_factory=dict)
    """Asks that must not be repeated, each with how it ended the process, or None for a timeout."""

    def batches(self) -> Iterator[tuple[int, ...]]:
        """Yield the match numbers of each batch."""
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
class PartResult:
    """The result of a part, or of as much of it as could be played."""

    part: RunPart
    lines: list[RecordLine] = field(default_factory=list)
    """Records of the part's matches, in order."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of failures, by player and kind: `("mcts-100", "in go it did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason."""
    stopped: bool = False
    """True if all matches in a batch broke off.

    Later matches would break off too, because a server is unreachable or a player rejects the game."""
    error: str | None = None
    """Why the remaining matches could not be played; None if there is no error."""
    seconds: float = 0.0
    """Number of seconds that a worker spent on the part."""
    deaths: int = 0
    """Number of worker processes that died during the part while no player was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStart:
    """The arguments for creating an executor."""

    workers: int | None = None
    """Number of workers; None for one per core."""
    plugins: tuple[Path, ...] = ()
    """One-file plugins for workers on other machines. Processes on this machine load them anyway
    (`gymposium.util.child_process`)."""
    address: str | None = None
    """Address of a cluster; None for the executor's default."""
    note: Callable[[str], object] = lambda text: None
    """Function that is called with remarks for the user."""


class Executor(Protocol):
    """Protocol of an executor, which plays parts of runs in workers.

    A player that hangs or dies affects only its match."""

    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        """Play parts and yield each when it is done, in any order.

        A part is taken from `parts` when a worker is free. Closing the iterator stops all work."""

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[int, R]]:
        """Call a module-level function with each item, and yield pairs of item number and result, in any order.

        The function, items and results are pickled. Raises any error from the function, and `GymposiumError` if a
        worker dies."""

    def close(self) -> None:
        """Stop all workers."""


@runtime_checkable
class CommandRunner(Protocol):
    """An executor that can run one command in several cooperating processes, like torchrun."""

    def run_command(self, arguments: Sequence[str], processes: int) -> int:
        """Run `gymposium ARGUMENTS` in several processes, and print the first one's output.

        The processes find each other through the environment variables that torchrun sets, and inherit this process's
        plugins and permissions. Ctrl-C is passed on. If a process fails, the others are stopped. Returns the exit
        status of the first process that fails, otherwise of the first process. Raises `GymposiumError` if a process is
        lost."""
