"""A tournament: plays a board's missing matches in an executor's workers.

It can be interrupted at any moment and run again: each match follows from the suite and its entry's seed, so the final
files are the same.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from gymposium.match import MatchJob
from gymposium.players.grammar import check_named_player
from gymposium.players.protocol import Player
from gymposium.runs.executors.cutting import Cut
from gymposium.runs.executors.protocol import Executor, PartDone, RunPart
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry, make_entrant
from gymposium_arena.matches import MatchesFile, check_whole
from gymposium_arena.schedule import Lineup, jobs, lineups


@dataclass(slots=True)
class Tournament:
    """A tournament's state, and in the end its result."""

    planned: int
    """Number of matches on a complete board."""
    finished: int = 0
    """Finished matches on the board, in the lineup files opened so far."""
    played: int = 0
    """Matches finished in this run."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of failures in this run, by player and kind: `("mcts-100", "in go it did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason; the next run plays them again."""
    torn: list[str] = field(default_factory=list)
    """Ids of lineups whose files ended in an incomplete line; it was removed and its match played again."""
    unplayed: dict[str, str] = field(default_factory=dict)
    """Why a lineup could not be finished, by lineup id."""

    @property
    def complete(self) -> bool:
        """Whether the board has all of its matches."""
        return self.finished == self.planned


@dataclass(frozen=True, slots=True)
class LineupMatches:
    """A lineup's matches, as executors play them."""

    lineup: Lineup
    entries: tuple[Entry, ...]
    """The entries of its players, in order."""

    @property
    def id(self) -> str:
        return self.lineup.id

    @property
    def players(self) -> tuple[str, ...]:
        return self.lineup.players

    def make_player(self, name: str) -> Player:
        return make_entrant(next(entry for entry in self.entries if entry.player == name))

    def jobs(self, players: Sequence[Player], numbers: Sequence[int]) -> Iterator[MatchJob]:
        return jobs(self.lineup, players, numbers)

    @property
    def depends_on_batches(self) -> bool:
        """Whether replies may depend on their batch, as those of models do by rounding."""
        return not all(entry.repeats in ("quickly", "slowly") for entry in self.entries)


def run_tournament(
    board: Board, executor: Executor, watch: Callable[[Tournament], None] = lambda _: None
) -> Tournament:
    """Play a board's missing matches. `watch` is called with the state after every change.

    An entry without a seed gets one now from the operating system, so its author could not have known it. Compressed
    files are complete and stay unchanged.

    Raises before the first match: `PermissionRequired` if an entry names a player that only the user may name, and
    `BadOption` if a compressed file lacks matches."""
    with board.locked():
        for entry in board.entries():
            check_named_player(entry.player)
        for entry in board.entries():
            if entry.seed is None:
                board.write_entry(entry.model_copy(update={"seed": secrets.randbits(48)}))
        entries = {entry.player: entry for entry in board.entries()}
        planned = [
            LineupMatches(lineup, tuple(entries[player] for player in lineup.players))
            for lineup in lineups(board.suite, [*entries.values()])
        ]
        state = Tournament(sum(matches.lineup.matches for matches in planned))
        whole = {matches.id for matches in planned if check_whole(board, matches.lineup)}
        state.finished = sum(matches.lineup.matches for matches in planned if matches.id in whole)
        planned = [matches for matches in planned if matches.id not in whole]
        files = _Files(board, state, watch)
        with closing(files):
            # players are usually listed from weak to strong, so start with the slowest
            for done in executor.run(files.parts(reversed(planned))):
                files.add(done)
    return state


class _Files:
    """The files of lineups in progress, and their missing parts."""

    def __init__(self, board: Board, state: Tournament, watch: Callable[[Tournament], None]) -> None:
        self._board, self._state, self._watch = board, state, watch
        self._open: dict[str, tuple[MatchesFile, Cut]] = {}
        """The file and parts of each lineup in progress, by lineup id."""

    def parts(self, planned: Iterable[LineupMatches]) -> Iterator[RunPart]:
        """Open one file after another, and yield its missing parts."""
        for matches in planned:
            lineup, suite = matches.lineup, matches.lineup.suite
            file = MatchesFile(self._board, lineup)
            cut = Cut(
                matches,
                file.numbers.missing(file.finished),
                file.numbers.count_missing(file.finished),
                at_once=suite.at_once,
                watchdog=suite.watchdog,
                whole_batches=matches.depends_on_batches,
            )
            self._open[lineup.id] = file, cut
            self._state.finished += lineup.matches - cut.rest
            self._state.torn += [lineup.id] if file.torn else []
            self._watch(self._state)
            yield from cut.parts()
            self._close_if_done(lineup.id)

    def add(self, done: PartDone) -> None:
        """Append a part's records to their file."""
        lineup, state = done.part.matches.id, self._state
        file, cut = self._open[lineup]
        file.append(done.lines)
        cut.add(done)
        finished = sum(line.finished for line in done.lines)
        state.played += finished
        state.finished += finished
        state.faults.update(done.faults)
        state.broken.update(done.broken)
        if done.error is not None:
            state.unplayed[lineup] = done.error
        self._close_if_done(lineup)
        self._watch(state)

    def _close_if_done(self, lineup: str) -> None:
        if lineup in self._open:
            file, cut = self._open[lineup]
            if not cut.rest and not cut.out:
                file.sort()
                file.close()
                del self._open[lineup]

    def close(self) -> None:
        """Close the files of unfinished lineups."""
        for file, _ in self._open.values():
            file.close()
