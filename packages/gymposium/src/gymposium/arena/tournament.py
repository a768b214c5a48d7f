"""A tournament, which plays the missing matches of a board in worker processes.

It can be interrupted at any moment and run again: each match follows from the suite and its entry's seed, so the files
come out the same.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.schedule import Lineup, lineups
from gymposium.arena.supervisor import play_tasks
from gymposium.arena.worker import Task, TaskEnded
from gymposium.players.grammar import check_named_player


@dataclass(slots=True)
class Tournament:
    """The progress and the outcome of a tournament."""

    planned: int
    """Matches that a complete board holds."""
    finished: int = 0
    """Finished matches on the board; those of a lineup are counted when a worker opens its file."""
    played: int = 0
    """Matches played in this run."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each player failed in them, by how: `("mcts-100", "did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason; the next run plays them again."""
    torn: list[str] = field(default_factory=list)
    """Ids of lineups whose files ended in an incomplete line, which was removed; its match was played again."""
    unplayed: dict[str, str] = field(default_factory=dict)
    """By lineup id, why the lineup could not be finished."""

    @property
    def complete(self) -> bool:
        """True if no match of the board is missing."""
        return self.finished == self.planned


def run_tournament(
    board: Board, workers: int, plugins: Sequence[Path] = (), watch: Callable[[Tournament], None] = lambda _: None
) -> Tournament:
    """Play the missing matches of a board. `watch` is called after every change. `plugins` are one-file plugins that
    the workers load.

    An entry without a seed gets one now from the operating system, so that its author could not have known it.

    Raises `NotAllowed` before the first match where an entry names a player that only the user may name."""
    with board.locked():
        for entry in board.entries():
            check_named_player(entry.player)
        for entry in board.entries():
            if entry.seed is None:
                board.write_entry(entry.seeded(secrets.randbits(48)))
        entries = {entry.player: entry for entry in board.entries()}
        planned = lineups(board.suite, [*entries.values()])
        found = Tournament(sum(lineup.matches for lineup in planned))
        finished: dict[str, int] = {}
        # players are mostly listed from the weakest to the strongest: the slowest lineups begin first
        tasks = [_task(board, lineup, entries) for lineup in reversed(planned)]
        for lineup, told in play_tasks(tasks, workers, plugins):
            if isinstance(told, TaskEnded):
                if told.error is not None:
                    found.unplayed[lineup.id] = told.error
            else:
                finished[lineup.id] = told.finished
                found.finished = sum(finished.values())
                found.played += told.played
                found.faults.update(told.faults)
                found.broken.update(told.broken)
                found.torn += [lineup.id] if told.torn else []
            watch(found)
    return found


def _task(board: Board, lineup: Lineup, entries: Mapping[str, Entry]) -> Task:
    playing = [entries[player] for player in lineup.players]
    return Task(lineup, playing, board.matches_file(lineup), board.suite.at_once, board.suite.watchdog)
