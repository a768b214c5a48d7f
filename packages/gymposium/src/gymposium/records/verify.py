"""Verification of match record files: each match is replayed and compared with its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import realpath
from pathlib import Path
from typing import NamedTuple

from gymposium.errors import BadOption, BadRecord, GymposiumError, describe_error
from gymposium.games.registry import has_recorded_chance, needs_isolation
from gymposium.match import MatchResult
from gymposium.plugins.command_line import format_command_line
from gymposium.records.files import Problem, make_no_records_problem, read_records
from gymposium.records.manifest import Manifest, compute_digest
from gymposium.records.record import Record
from gymposium.records.replay import find_replay_difference, load_record_game, results_are_checked
from gymposium.util.isolated import CallFailed, call_isolated
from gymposium.util.plain_file import find_forms

_LONGEST = 2000
"""Maximum number of characters kept from a difference, which may quote a reply of megabytes."""


@dataclass(slots=True)
class FileVerification:
    """The result of verifying a file."""

    matches: int = 0
    """Number of replayed records."""
    not_played: int = 0
    """Number of records that could not be replayed, because the recorded version of their game is not installed."""
    unchecked: int = 0
    """Number of records whose tool results were taken from the record, unchecked (`results_are_checked`)."""
    recorded_chance: int = 0
    """Number of records whose chance was drawn elsewhere, so it was taken from the record (`recorded:NAME`)."""
    problems: list[Problem] = field(default_factory=list)
    planned: int | None = None
    """Number of matches in the run's plan; None without a manifest."""
    finished: bool = False
    """Whether the manifest contains the finished file's digest."""


def verify_file(path: str | Path) -> FileVerification:
    """Replay every record, and compare the records with the file's manifest, if it has one.

    Each invalid or differing line gives one problem, its first difference. A file without records gives one problem."""
    verification = FileVerification()
    for number, record in read_records(path):
        if isinstance(record, Problem):
            verification.problems.append(record)
            continue
        replayed = _replay(record)
        verification.matches += replayed.played
        verification.not_played += not replayed.played
        if replayed.played and has_recorded_chance(record.game):
            verification.recorded_chance += 1
        else:
            verification.unchecked += replayed.unchecked
        if replayed.difference is not None:
            where = f"{path}:{number} (match {record.id[:_LONGEST]})"
            verification.problems.append(Problem(where, replayed.difference[:_LONGEST]))
    if verification.matches or verification.not_played:
        _check_manifest(Path(path), verification)
    else:
        verification.problems = [make_no_records_problem(path, verification.problems)]
    return verification


def _check_manifest(path: Path, verification: FileVerification) -> None:
    """Add the differences between a file and its manifest.

    A changed digest is reported only if there are no other problems.

    The file is read again, because its records may not fit into memory."""
    problems = verification.problems
    try:
        manifest = Manifest.load(path)
    except BadRecord as error:
        problems.append(Problem(str(path), str(error)))
        return
    if manifest is None:
        return
    verification.planned, verification.finished = manifest.plan.count, manifest.digest is not None
    bad = {problem.where.partition(" (match ")[0] for problem in problems}
    records = ((line, record) for line, record in read_records(path) if isinstance(record, Record))
    for line, what in manifest.find_differences(records):
        where = str(path) if line is None else f"{path}:{line}"
        if line is None or where not in bad:
            problems.append(Problem(where, what[:_LONGEST]))
    if not problems and manifest.digest not in (None, compute_digest(path)):
        what = "its lines are not those that the run wrote: their digest is not the one in the manifest"
        problems.append(Problem(str(path), what))


def group_problems(problems: Sequence[Problem]) -> list[tuple[Problem, int]]:
    """Return the first problem for each reason, with the number of further problems for that reason."""
    counts = Counter(problem.what for problem in problems)
    first = {problem.what: problem for problem in reversed(problems)}
    return [(first[what], count - 1) for what, count in counts.items()]


def find_match_files(path: Path) -> list[Path]:
    """Return the match files at a path: the file itself, or those in a run's folder.

    Raises `BadOption` for a folder without such files, and the errors of `find_forms`."""
    if not path.is_dir():
        return [path]
    files = [*find_forms(path, "matches.jsonl"), *find_forms(path, "matches/*.jsonl")]
    if not files:
        hint = " Name a run's folder."
        if board_files := find_board_files(path):
            hint = (
                f" It is a board. Name one of its match files, such as {board_files[0]}, or verify the whole board:  "
                f"{format_command_line('leaderboard', 'verify', str(path))}"
            )
        raise BadOption(f"{path} is not a run's folder: it contains neither matches.jsonl nor matches/*.jsonl.{hint}")
    return files


def drop_duplicate_files(files: Iterable[Path]) -> list[Path]:
    """Return the paths without duplicates, keeping the first path of each file."""
    named: dict[Path, Path] = {}
    for file in files:
        named.setdefault(Path(realpath(file)), file)
    return [*named.values()]


def find_board_files(board: Path) -> list[Path]:
    """Return a board's match files, sorted by name. Raises the errors of `find_forms`."""
    return find_forms(board, "entries/*/matches/*/*.jsonl")


def find_first_difference(record: Record, played: MatchResult | None = None) -> str | None:
    """Return the first difference between a record and its replay (`find_replay_difference`), or None.

    `played` is the replay from `replay_decisions`, if any. A match that broke off is replayed anyway."""
    return (_replay(record) if played is None or record.ending.broke_off else _replay_here(record, played)).difference


class _ReplayOutcome(NamedTuple):
    """The outcome of replaying a record."""

    played: bool
    difference: str | None
    """The first difference, or the reason why the record could not be replayed."""
    unchecked: bool = False
    """Whether tool results were taken from the record."""


def _replay(record: Record) -> _ReplayOutcome:
    """Replay a record, in a separate process if the game's engine can crash its process."""
    if not needs_isolation(record.game):
        return _replay_here(record)
    try:
        return call_isolated(_replay_here, record)
    except CallFailed as error:
        return _ReplayOutcome(False, str(error))


def _replay_here(record: Record, played: MatchResult | None = None) -> _ReplayOutcome:
    try:
        game = load_record_game(record)
    except GymposiumError as error:
        return _ReplayOutcome(False, str(error))
    if (version := game.spec.version) != record.game_version:
        return _ReplayOutcome(False, f"made with version {record.game_version} of the game; this is version {version}")
    unchecked = not results_are_checked(game)
    try:
        return _ReplayOutcome(True, find_replay_difference(game, record, played), unchecked)
    except Exception as error:  # noqa: BLE001 - an engine may raise anything for an untrusted record
        return _ReplayOutcome(True, describe_error(error), unchecked)
