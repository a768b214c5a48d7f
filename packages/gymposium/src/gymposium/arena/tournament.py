"""A tournament: all that a board is to hold and does not yet, played by worker processes.

It can be stopped at any moment, by whatever means, and run again: each match follows from the suite and its entry's
seed, so the files come out the same.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.arena.board import Board
from gymposium.arena.crew import play_tasks
from gymposium.arena.entries import Entry
from gymposium.arena.schedule import Lineup, lineups
from gymposium.arena.worker import Ended, Task
from gymposium.players.grammar import check_named_player


@dataclass(slots=True)
class Tournament:
    """How a tournament stands, and in the end what it came to."""

    planned: int
    """Matches that the board is to hold."""
    finished: int = 0
    """Those that it holds, as far as they are counted: each lineup's when a worker has opened its file."""
    played: int = 0
    """Those that were played this time."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each player failed in them, by how: `("mcts-100", "did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Why how many of them broke off; the next tournament plays them again."""
    torn: list[str] = field(default_factory=list)
    """Lineups, by id, whose files ended in the middle of a line; what was left of it was cut off and played again."""
    unplayed: dict[str, str] = field(default_factory=dict)
    """Why which lineups, by id, could not be played to their end."""

    @property
    def complete(self) -> bool:
        """Whether the board holds all that it is to hold."""
        return self.finished == self.planned


def run_tournament(
    board: Board, workers: int, plugins: Sequence[Path] = (), watch: Callable[[Tournament], None] = lambda _: None
) -> Tournament:
    """Play what is missing on a board. `watch` is called as often as something changes. `plugins` are one-file plugins
    that the workers load.

    An entry whose seed is open gets one now from the operating system: whoever made the entry could not know it.

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
        # players mostly stand from the weakest to the strongest: what takes longest begins first
        tasks = [_task(board, lineup, entries) for lineup in reversed(planned)]
        for lineup, told in play_tasks(tasks, workers, plugins):
            if isinstance(told, Ended):
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
