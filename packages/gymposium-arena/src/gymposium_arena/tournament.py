"""Play a board's missing matches in an executor's workers.

An interrupted tournament resumes with the same final files, since each match follows from the suite and its entry's
seed.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import BadOption, BadRecord, describe_cause
from gymposium.match import MatchJob
from gymposium.players.grammar import check_named_player
from gymposium.players.protocol import Player
from gymposium.records import FORMAT, OrderedWriter
from gymposium.runs.executors.cutting import PartCutter
from gymposium.runs.executors.protocol import Executor, PartResult, RunPart
from gymposium.util.plain_file import is_compressed, read_lines
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import quantity
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry, make_entered_player
from gymposium_arena.schedule import Lineup, make_jobs, make_lineups


@dataclass(slots=True)
class Tournament:
    """A tournament's progress and result."""

    planned: int
    """Number of matches on a complete board."""
    finished: int = 0
    """Number of finished matches on the board, in the lineup files opened so far."""
    played: int = 0
    """Number of matches finished in this run."""
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Failures in this run, by player and kind: `("mcts-100", "in go it did not answer in time")`."""
    broken: Counter[str] = field(default_factory=Counter)
    """Matches that broke off, by reason; the next run replays them."""
    torn: list[str] = field(default_factory=list)
    """Ids of lineups whose files ended in an incomplete line, which was removed."""
    unplayed: dict[str, str] = field(default_factory=dict)
    """Errors that stopped a lineup, by lineup id."""

    @property
    def complete(self) -> bool:
        """Whether the board has all its matches."""
        return self.finished == self.planned


@dataclass(frozen=True, slots=True)
class LineupMatches:
    """A lineup's matches, in the form that executors play."""

    lineup: Lineup
    entries: tuple[Entry, ...]
    """The entries of the lineup's players, in order."""

    @property
    def id(self) -> str:
        return self.lineup.id

    @property
    def players(self) -> tuple[str, ...]:
        return self.lineup.players

    def make_player(self, name: str) -> Player:
        return make_entered_player(next(entry for entry in self.entries if entry.player == name))

    def jobs(self, players: Sequence[Player], numbers: Sequence[int]) -> Iterator[MatchJob]:
        return make_jobs(self.lineup, players, numbers)

    @property
    def depends_on_batches(self) -> bool:
        """Whether replies may depend on their batch. Those of models do, because of rounding."""
        return not all(entry.repeats in ("quickly", "slowly") for entry in self.entries)


def run_tournament(
    board: Board, executor: Executor, watch: Callable[[Tournament], None] = lambda _: None
) -> Tournament:
    """Play a board's missing matches. `watch` is called with the state after every change.

    Entries without a seed get one from the operating system, so that their authors cannot choose it. Compressed files
    stay unchanged.

    Before the first match, raises `PermissionRequired` if an entry names a player that only the user may name. Also
    raises `BadOption` if a compressed file lacks matches."""
    with board.lock():
        for entry in board.entries():
            check_named_player(entry.player)
        for entry in board.entries():
            if entry.seed is None:
                board.write_entry(entry.model_copy(update={"seed": secrets.randbits(48)}))
        entries = {entry.player: entry for entry in board.entries()}
        planned = [
            LineupMatches(lineup, tuple(entries[player] for player in lineup.players))
            for lineup in make_lineups(board.suite, [*entries.values()])
        ]
        state = Tournament(sum(matches.lineup.matches for matches in planned))
        whole = {matches.id for matches in planned if check_compressed(board, matches.lineup)}
        state.finished = sum(matches.lineup.matches for matches in planned if matches.id in whole)
        planned = [matches for matches in planned if matches.id not in whole]
        files = _LineupFiles(board, state, watch)
        with closing(files):
            # start with the slowest players, since they are usually listed from weak to strong
            for done in executor.run(files.open_parts(reversed(planned))):
                files.add(done)
    return state


class _LineupFiles:
    """The open match files of a tournament."""

    def __init__(self, board: Board, state: Tournament, watch: Callable[[Tournament], None]) -> None:
        self._board, self._state, self._watch = board, state, watch
        self._open: dict[str, tuple[MatchesFile, PartCutter]] = {}
        """The file and parts of each lineup in progress, by lineup id."""

    def open_parts(self, planned: Iterable[LineupMatches]) -> Iterator[RunPart]:
        """Open the files one after another, and yield their missing parts."""
        for matches in planned:
            lineup, suite = matches.lineup, matches.lineup.suite
            file = MatchesFile(self._board, lineup)
            cut = PartCutter(
                matches,
                file.numbers.find_missing(file.finished),
                file.numbers.count_missing(file.finished),
                at_once=suite.at_once,
                watchdog=suite.watchdog,
                whole_batches=matches.depends_on_batches,
            )
            self._open[lineup.id] = file, cut
            self._state.finished += lineup.matches - cut.remaining
            self._state.torn += [lineup.id] if file.torn else []
            self._watch(self._state)
            yield from cut.parts()
            self._close_if_done(lineup.id)

    def add(self, done: PartResult) -> None:
        """Append a finished part to its file."""
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
            if not cut.remaining and not cut.in_progress:
                file.sort()
                file.close()
                del self._open[lineup]

    def close(self) -> None:
        """Close the files of unfinished lineups."""
        for file, _ in self._open.values():
            file.close()


class MatchesFile(OrderedWriter):
    """A lineup's record file, open for a tournament.

    Opening it removes an incomplete last line, left by a killed tournament."""

    def __init__(self, board: Board, lineup: Lineup) -> None:
        self.numbers = lineup.numbers()
        super().__init__(
            board.matches_file(lineup), self.numbers, wait=True
        )  # a killed tournament may still be writing
        self._read()

    def _read(self) -> None:
        start, number = 0, -1
        for line in read_lines(self.path):
            match_id, finished = _parse_match(line)
            if finished:
                self.finished.add(match_id)
            # an unknown line stays behind the line before it
            number = self._numbers.get(match_id, number)
            self._add_line(number, start, len(line))
            start += len(line)


def check_compressed(board: Board, lineup: Lineup) -> bool:
    """Return whether a lineup's file is compressed. Raises `BadOption` if a compressed file lacks matches, and
    `BadRecord` if the file cannot be read."""
    path = board.matches_file(lineup)
    if not is_compressed(path):
        return False
    try:
        finished = {match_id for match_id, finished in map(_parse_match, read_lines(path)) if finished}
    except OSError as error:
        raise BadRecord(f"{path} cannot be read ({describe_cause(error)}). Restore it from a copy.") from error
    if missing := lineup.numbers().count_missing(finished):
        raise BadOption(
            f"{path} is compressed and lacks {missing} of {quantity(lineup.matches, 'match')}. "
            "Unpack it to play them:  "
            f"gunzip {path}"
        )
    return True


def _parse_match(line: bytes) -> tuple[str, bool]:
    """Return a line's match id, and whether the match is finished. The id is empty for an invalid line."""
    match _parse_json(line):
        case {"format": format, "id": str(match_id), "ending": {"kind": kind}} if format == FORMAT:
            return match_id, kind != "broke off"
    return "", False


def _parse_json(line: bytes) -> Any:
    try:
        return parse_strict_json(line.decode("utf-8-sig"))
    except ValueError:
        return None
