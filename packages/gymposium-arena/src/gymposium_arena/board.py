"""A leaderboard's folder with a suite, its entries and their matches. All results derive from these files.

BOARD/suite.toml
BOARD/entries/<slug>/entry.json
BOARD/entries/<slug>/matches/<game-slug>/<lineup-slug>.jsonl

Match files may be compressed, as <lineup-slug>.jsonl.gz.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.players.grammar import check_player
from gymposium.plugins.command_line import format_command_line
from gymposium.records import Problem, Record, find_board_files, read_records
from gymposium.runs.links import check_contained
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import find_form, open_plain
from gymposium_arena.entries import Entry, find_refusal, make_entry, make_own_entry, read_entry
from gymposium_arena.schedule import Lineup
from gymposium_arena.slugs import join_slugs, make_slug as slug_of
from gymposium_arena.suite import Suite, read_suite

SITE = "site"
"""Default folder of a board's built pages, beside the suite."""


class Board:
    """A board on disk. `Board(path)` opens it for reading."""

    def __init__(self, path: Path) -> None:
        """Raises `BadOption` if the folder is not a board or its suite is invalid."""
        self.path = path
        if not self.suite_file.is_file():
            raise BadOption(
                f"{path} is not a board: it has no suite.toml. Create one with:  "
                + format_command_line("leaderboard", "run", "SUITE", "--out", str(path))
            )
        self.suite = read_suite(self.suite_file)

    @classmethod
    def open_for_writing(cls, path: Path) -> Board:
        """Open a board for writing. Raises `BadOption` if the folder is not a board, or if a link in it points
        outside."""
        board = cls(path)
        check_contained(path, "entries")
        return board

    @classmethod
    def open_or_create(cls, path: Path, suite: Suite) -> Board:
        """Open a suite's board for writing, or create it with entries for the suite's own players.

        Raises `BadOption` if the folder holds another suite's board, or if a link in it points outside."""
        file = path / "suite.toml"
        if not file.exists():
            entries = [make_own_entry(suite, player) for player in suite.players]  # may raise, so before any write
            _write_file(file, suite.text())
            for entry in entries:
                _write_file(path / "entries" / entry.slug / "entry.json", entry.text())
        board = cls.open_for_writing(path)
        if board.suite != suite:
            raise BadOption(
                f"{path} is the board of another suite: {_describe_difference(board.suite, suite)} A changed suite "
                f"needs a new board: choose another --out."
            )
        for player in suite.players:
            if not board.entry_file(slug_of(player)).exists():
                board.write_entry(make_own_entry(suite, player))
        return board

    @property
    def suite_file(self) -> Path:
        """The path of the suite's file."""
        return self.path / "suite.toml"

    def entry_file(self, slug: str) -> Path:
        """Return the path of an entry's file."""
        return self.path / "entries" / slug / "entry.json"

    def matches_file(self, lineup: Lineup) -> Path:
        """Return the path of a lineup's matches, compressed or not. Raises `BadOption` if both forms exist."""
        folder = self.path / "entries" / lineup.slugs[-1] / "matches" / slug_of(lineup.game.name)
        return find_form(folder / f"{join_slugs(lineup.slugs)}.jsonl")

    def entries(self) -> list[Entry]:
        """Read all entries, sorted by number. Raises `BadRecord` or `BadOption` for an invalid entry."""
        entries = sorted(map(read_entry, self.path.glob("entries/*/entry.json")), key=lambda entry: entry.number)
        numbers = [entry.number for entry in entries]
        if numbers != list(range(len(entries))):
            raise BadOption(
                f"{self.path}: its entries are numbered {numbers}, but must count up from 0. Restore the missing "
                "entries."
            )
        for entry in entries:
            if why := find_refusal(entry, self.suite):
                raise BadOption(
                    f"Invalid entry {self.entry_file(entry.slug)}: {why}. Enter the player again on a new board."
                )
        return entries

    def write_entry(self, entry: Entry) -> None:
        """Write an entry's file atomically."""
        _write_file(self.entry_file(entry.slug), entry.text())

    def add(
        self,
        players: Sequence[str],
        seed: int | None,
        games: Sequence[str] = (),
        *,
        label: str | None = None,
        by: str | None = None,
        made: str | None = None,
    ) -> list[Entry]:
        """Append players' entries, for these games or for all in the suite. If one entry is invalid, none is appended.

        A player on the board keeps its entry. `label` is the display name, `by` the person who enters the players, and
        `made` the date.

        Raises `BadOption` if a player is on the board with different values."""
        known = [game.name for game in self.suite.games]
        before = self.entries()
        entries, added = {entry.player: entry for entry in before}, list[Entry]()
        for player in players:
            try:
                check_player(player)
                if player in entries:
                    _check_same(entries[player], seed, games, label, by)
                elif unknown := [game for game in games if game not in known]:
                    raise BadOption(
                        f"The suite {self.suite.name} has no game {unknown[0]}. Its games: {', '.join(known)}."
                    )
                else:
                    entries[player] = make_entry(
                        self.suite, player, len(entries), seed,
                        own=False, games=games or known, label=label, by=by, made=made,
                    )  # fmt: skip
            except GymposiumError as error:
                if len(players) == 1:
                    raise
                raise BadOption(f"--add {player}: {error} None of the {len(players)} players was added.") from error
            added.append(entries[player])
        for entry in [*entries.values()][len(before) :]:
            self.write_entry(entry)
        return added

    def files(self) -> list[Path]:
        """Return the paths of all match files, sorted by name."""
        return find_board_files(self.path)

    def records(self) -> Iterator[tuple[Path, Record | Problem]]:
        """Yield the path and content of every line in the match files, sorted by file name.

        Raises `BadRecord` for a match of a game or player that is not on the board."""
        games, players = {game.name for game in self.suite.games}, {entry.player for entry in self.entries()}
        for file in self.files():
            for _, record in read_records(file):
                if isinstance(record, Record) and not (record.game in games and players.issuperset(record.players)):
                    raise BadRecord(
                        f"{file}: match {record.id} is {record.game} between {', '.join(record.players)}, but the game "
                        "or a player is not on this board. Remove the match."
                    )
                yield file, record

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the board for one tournament. Raises `BadOption` if another tournament has locked it."""
        with open_plain(self.suite_file) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadOption(f"A tournament is running on {self.path}. Wait until it ends.") from None
            yield


def _format_value(value: object) -> str:
    return ", ".join(sorted(map(str, value))) if isinstance(value, set) else str(value)


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)


def _check_same(entry: Entry, seed: int | None, games: Sequence[str], label: str | None, by: str | None) -> None:
    """Raise `BadOption` if these values differ from those in the player's entry."""
    given: dict[str, tuple[object, object]]
    given = {"--seed": (seed, entry.seed), "--label": (label, entry.label), "--by": (by, entry.by)}
    given["--game"] = ({*games} or None, {*entry.games})
    for option, (wanted, stored) in given.items():
        if wanted is not None and wanted != stored:
            there = f"without {option}" if stored is None else f"with {_format_value(stored)}"
            raise BadOption(
                f"{option}: {entry.player} is already on the board {there}, not with {_format_value(wanted)}. "
                f"Leave out {option}."
            )


def _describe_difference(there: Suite, wanted: Suite) -> str:
    """Describe the first difference between two suites in a sentence."""
    pairs = zip(there.text().splitlines(), wanted.text().splitlines())
    one, other = next(((a, b) for a, b in pairs if a != b), ("fewer games", "more games"))
    return f"it has {one!r} instead of {other!r}."
