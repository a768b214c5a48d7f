"""Playing records again: what in them does not follow from their events and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_named_game, needs_isolation
from gymposium.isolated import CallFailed, isolated
from gymposium.records.files import Problem, no_records, read_records
from gymposium.records.manifest import Manifest, digest_of
from gymposium.records.record import Record
from gymposium.records.replay import replay_difference


@dataclass(slots=True)
class FileVerification:
    """What `verify` found in a file."""

    matches: int = 0
    """Records that were played again."""
    not_played: int = 0
    """Records that could not be: their game is not there, or not in their version."""
    problems: list[Problem] = field(default_factory=list)
    planned: int | None = None
    """The number of matches in the plan of the run; None if the file has no manifest."""
    finished: bool = False
    """True if the manifest has the digest of the finished file."""


def verify_file(path: str | Path) -> FileVerification:
    """Play every record again, and compare the records with the file's manifest if it has one.

    Each broken or differing line gives one problem, its first difference. A file that holds no record at all gives
    one."""
    found = FileVerification()
    records: list[tuple[int, Record]] = []
    for number, record in read_records(path):
        if isinstance(record, Problem):
            found.problems.append(record)
            continue
        records.append((number, record))
        played, difference = _checked(record)
        found.matches += played
        found.not_played += not played
        if difference is not None:
            found.problems.append(Problem(f"{path}:{number} (match {record.id})", difference))
    if not found.matches + found.not_played:
        found.problems = [no_records(path, found.problems)]
    else:
        _check_manifest(Path(path), records, found)
    return found


def _check_manifest(path: Path, records: Sequence[tuple[int, Record]], found: FileVerification) -> None:
    """Add the differences between a file and its manifest; a changed digest alone, if nothing else is wrong."""
    try:
        manifest = Manifest.beside(path)
    except BadRecord as error:
        found.problems.append(Problem(str(path), str(error)))
        return
    if manifest is None:
        return
    found.planned, found.finished = manifest.plan.count, manifest.digest is not None
    bad = {problem.where.partition(" (match ")[0] for problem in found.problems}
    for line, what in manifest.differences(records):
        if line is None or f"{path}:{line}" not in bad:
            found.problems.append(Problem(str(path) if line is None else f"{path}:{line}", what))
    if not found.problems and manifest.digest not in (None, digest_of(path)):
        what = "its lines are not those that the run wrote: their digest is not the one in the manifest"
        found.problems.append(Problem(str(path), what))


def match_files(path: Path) -> list[Path]:
    """The files of matches that are named by a path: the file itself, or those in the folder of a run.

    Raises `BadOption` for a folder without any."""
    if not path.is_dir():
        return [path]
    files = [path / "matches.jsonl", *sorted((path / "matches").glob("*.jsonl"))]
    if not (there := [file for file in files if file.is_file()]):
        raise BadOption(f"{path} is not the folder of a run: it has no matches.jsonl and no matches/*.jsonl.")
    return there


def first_difference(record: Record) -> str | None:
    """The first thing in a record that does not follow from its events and seeds, or None.

    Two facts are checked apart: that the events make a legal match with these returns, and that the
    seed draws the same chance."""
    return _checked(record)[1]


def _checked(record: Record) -> tuple[bool, str | None]:
    """Whether it could be played again, and its first difference."""
    if not needs_isolation(record.game):
        return _play_again(record)
    try:
        return isolated(_play_again, record)
    except CallFailed as error:
        return False, str(error)


def _play_again(record: Record) -> tuple[bool, str | None]:
    try:
        game = _same_game(record)
    except GymposiumError as error:
        return False, str(error)
    try:
        return True, replay_difference(game, record)
    except GymposiumError as error:
        return True, str(error)
    except Exception as error:  # noqa: BLE001 - any error that an engine may raise at an untrusted record
        return True, f"{type(error).__name__}: {error}"


def _same_game(record: Record) -> Game:
    """The game that the record is of. Raises `BadRecord` if only another version of it is installed."""
    game = load_named_game(record.game)
    if game.spec.version != record.game_version:
        raise BadRecord(f"made with version {record.game_version} of the game; this is version {game.spec.version}")
    return game
