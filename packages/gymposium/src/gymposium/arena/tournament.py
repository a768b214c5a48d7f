"""A tournament, which plays the missing matches of a board in worker processes.

It can be interrupted at any moment and run again: each match follows from the suite and its entry's seed, so the files
are the same in the end.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.arena.board import Board
from gymposium.arena.schedule import lineups
from gymposium.arena.supervisor import play_tasks
from gymposium.arena.worker import Task, TaskEnded
from gymposium.players.grammar import check_named_player


@dataclass(slots=True)
class Tournament:
    """The state of a tournament, which is its result at the end."""

    planned: int
    """Matches that a complete board holds."""
    finished: int = 0
    """Finished matches on the board, as far as workers have opened the lineups' files."""
    played: int = 0
    """Matches played in this run."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of failures in them, by player and kind: `("mcts-100", "did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason; the next run plays them again."""
    torn: list[str] = field(default_factory=list)
    """Ids of lineups whose files ended in an incomplete line, which was removed; its match was played again."""
    unplayed: dict[str, str] = field(default_factory=dict)
    """Why a lineup could not be finished, by its id."""

    @property
    def complete(self) -> bool:
        """True if no match of the board is missing."""
        return self.finished == self.planned


def run_tournament(
    board: Board, workers: int, plugins: Sequence[Path] = (), watch: Callable[[Tournament], None] = lambda _: None
) -> Tournament:
    """Play the missing matches of a board. `watch` is called with the state after every change. `plugins` are one-file
    plugins that the workers load.

    An entry without a seed gets one now from the operating system, so its author could not know it.

    Raises `NotAllowed` before the first match if an entry names a player that only the user may name."""
    with board.locked():
        for entry in board.entries():
            check_named_player(entry.player)
        for entry in board.entries():
            if entry.seed is None:
                board.write_entry(entry.model_copy(update={"seed": secrets.randbits(48)}))
        entries = {entry.player: entry for entry in board.entries()}
        planned = lineups(board.suite, [*entries.values()])
        state = Tournament(sum(lineup.matches for lineup in planned))
        finished: dict[str, int] = {}
        tasks = [
            Task(lineup, [entries[player] for player in lineup.players], board.matches_file(lineup))
            for lineup in reversed(planned)  # players are usually listed from weak to strong: start the slowest first
        ]
        for lineup, message in play_tasks(tasks, workers, plugins):
            if isinstance(message, TaskEnded):
                if message.error is not None:
                    state.unplayed[lineup.id] = message.error
            else:
                finished[lineup.id] = message.finished
                state.finished = sum(finished.values())
                state.played += message.played
                state.faults.update(message.faults)
                state.broken.update(message.broken)
                state.torn += [lineup.id] if message.torn else []
            watch(state)
    return state
