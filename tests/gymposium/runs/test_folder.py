"""A run's folder: no other run uses it, and each match is kept once, finally in order."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadOption
from gymposium.match import FORFEIT, MatchResult, play
from gymposium.match.ending import OVER, Ending
from gymposium.match.seating import MatchPlan, Series
from gymposium.records import FileVerification, Record, find_match_files, verify_file
from gymposium.runs.folder import PlanOrder, RunFolder, RunMatches, create_run_folder
from gymposium.util.writable import check_writable

SERIES = Series("m", "kuhn_poker", ("random", "greedy"), 12, seed=3, swap=True, on_illegal=FORFEIT)
PLANNED = MatchPlan((SERIES,))


def played(*numbers: int, first: int = 0) -> list[MatchResult]:
    game, players = load_game("kuhn_poker"), [make_player("random"), make_player("greedy")]
    return list(play(SERIES.jobs(game, players, sorted(numbers), first), at_once=1))


def test_folders_are_named_by_date_command_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = [str(create_run_folder(command)) for command in ("run", "run", "eval", "run")]
    assert [re.sub(r"\d{4}-\d\d-\d\d", "DATE", name) for name in made] == [
        "gymposium-runs/DATE-run-1",
        "gymposium-runs/DATE-run-2",
        "gymposium-runs/DATE-eval-1",
        "gymposium-runs/DATE-run-3",
    ]
    Path(made[0]).rmdir()
    assert str(create_run_folder("run")).endswith("-run-4")  # a name is not given twice


def test_folder_in_use_is_refused(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "a", "run", {"game": "hex"})
    with pytest.raises(BadOption, match=f"--resume {tmp_path / 'a'}"):
        RunFolder.create(tmp_path / "a", "run", {})
    assert RunFolder.open(tmp_path / "a", "run").settings == {"game": "hex"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "not a run of gymposium run"),
        ("{", "cannot be read"),
        ("[1]", "no settings in format"),
        ('{"format": "gymposium-run-9", "settings": {}}', "no settings in format"),
        ('{"format": "gymposium-run-1", "command": "eval", "settings": {}}', "of another command, eval"),
    ],
)
def test_invalid_run_does_not_resume(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "settings.json").write_text(text)
    with pytest.raises(BadOption, match=said):
        RunFolder.open(tmp_path, "run")


def test_matches_are_written_at_once_and_finally_sorted(tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    with RunMatches(file, PLANNED) as log:
        for number, match in enumerate(played(7, 2, 11), start=1):
            log.write(match)
            assert len(file.read_text().splitlines()) == number
    with open(file, "a") as torn:
        torn.write('{"format": "gymposium-match-4", "id": "m-')
    counted: list[int] = []
    with RunMatches(file, PLANNED, lambda number, record: counted.append(number)) as log:
        assert log.finished == {"m-7", "m-2", "m-11"}
        for match in played(*(number for number in range(12) if f"m-{number}" not in log.finished)):
            log.write(match)
        log.finish()
    assert counted == [*range(12)]
    with RunMatches(tmp_path / "whole.jsonl", PLANNED) as log:
        for match in played(*range(12)):
            log.write(match)
        log.finish()
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_broken_match_is_kept_and_replayed(tmp_path: Path) -> None:
    [whole] = played(3)
    broken = replace(whole, ending=Ending("broke off", detail="RuntimeError: out of ink"), paid=())
    counted: list[Record] = []
    for match in (broken, whole):
        with RunMatches(tmp_path / "m", PLANNED, lambda number, record: counted.append(record)) as log:
            assert not log.finished
            log.write(match)
            log.finish()
    assert [record.ending for record in counted] == [OVER]
    errors = [json.loads(line)["ending"]["detail"] for line in (tmp_path / "m").read_text().splitlines()]
    assert errors == ["RuntimeError: out of ink", ""]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_matches_are_counted_in_plan_order(order: list[int]) -> None:
    counted: list[int] = []
    matches = {match.job.number: match for match in played(0, 1, 2, 3)}
    matches[1] = replace(matches[1], ending=Ending("broke off", detail="no server"), paid=())
    log = PlanOrder(PLANNED.numbers(), lambda number, record: counted.append(number))
    for position, number in enumerate(order, start=1):
        log.write(matches[number])
        ended = order[:position]
        first_missing = next(number for number in range(5) if number not in ended)
        assert counted == [number for number in range(first_missing) if number != 1]
    log.write(played(7)[0])
    assert counted == [0, 2, 3]
    log.finish()
    assert counted == [0, 2, 3, 7]
    assert log.finished == {"m-0", "m-2", "m-3", "m-7"}


@pytest.mark.parametrize("line", ['{"id": "m-1"}', "nonsense", None])
def test_foreign_line_is_reported_and_kept(tmp_path: Path, line: str | None) -> None:
    file = tmp_path / "matches.jsonl"
    with RunMatches(file, MatchPlan((SERIES, replace(SERIES, tag="other")))) as log:
        [match] = played(1, first=12 if line is None else 0)
        match.job.id = "other-1" if line is None else match.job.id
        log.write(match)
    file.write_text(file.read_text() + (f"{line}\n" if line else ""))
    before = file.read_bytes()
    with pytest.raises(BadOption, match=rf"matches.jsonl:{1 if line is None else 2} is .* Remove that line"):
        RunMatches(file, PLANNED)
    assert file.read_bytes() == before


# -- the manifest


def finished(folder: Path) -> tuple[Path, list[str]]:
    """A finished file of matches and its lines."""
    file = folder / "matches.jsonl"
    with RunMatches(file, PLANNED) as log:
        for match in played(*range(12)):
            log.write(match)
        log.finish()
    return file, file.read_text().splitlines()


def verified(file: Path, lines: list[str]) -> FileVerification:
    file.write_text("".join(f"{line}\n" for line in lines))
    return verify_file(file)


def test_finished_file_agrees_with_its_manifest(tmp_path: Path) -> None:
    file, lines = finished(tmp_path)
    found = verify_file(file)
    assert (found.matches, found.planned, found.finished, found.problems) == (12, 12, True, [])
    assert [json.loads(line)["number"] for line in lines] == [*range(12)]
    alone = verified(tmp_path / "some.jsonl", [lines[7], lines[2], lines[7]])
    assert (alone.matches, alone.planned, alone.problems) == (3, None, [])
    assert find_match_files(tmp_path) == [file]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], ["matches.jsonl: 1 of the 12 planned matches are missing: 11"]),
        (lambda lines: lines[4:], ["matches.jsonl: 4 of the 12 planned matches are missing: 0, 1, 2, …"]),
        (lambda lines: [*lines, lines[3]], ["matches.jsonl:13: match 3 of the plan is in line 4 already"]),
        (
            lambda lines: [lines[1], lines[0], *lines[2:]],
            ["matches.jsonl:2: match 0 of the plan comes after match 1"],
        ),
        (
            lambda lines: [lines[0], numbered(lines[2], 1), numbered(lines[1], 2), *lines[3:]],
            [
                "matches.jsonl:2: id: 'm-2' is recorded, but the plan has 'm-1'",
                "matches.jsonl:3: id: 'm-1' is recorded",
            ],
        ),
        (
            lambda lines: [*lines[:5], numbered(lines[6], 5, id="m-5"), *lines[6:]],
            ["matches.jsonl:6: players: "],
        ),
        (
            lambda lines: [*lines, numbered(lines[3], 12)],
            ["matches.jsonl:13: the plan of the run has no match of number"],
        ),
        (
            lambda lines: [*lines, numbered(lines[3], None)],
            ["matches.jsonl:13: the plan of the run has no match of num"],
        ),
        (lambda lines: [*lines[:-1], f" {lines[-1]}"], ["matches.jsonl: its lines are not those that the run wrote"]),
    ],
)
def test_missing_duplicate_and_swapped_matches_are_reported(
    tmp_path: Path, change: Callable[[list[str]], list[str]], said: list[str]
) -> None:
    file, lines = finished(tmp_path)
    problems = verified(file, change(lines)).problems
    assert [str(problem).startswith(f"{tmp_path}/{text}") for problem, text in zip(problems, said, strict=True)] == [
        True
    ] * len(said), problems


def numbered(line: str, number: int | None, **changes: object) -> str:
    return json.dumps(json.loads(line) | {"number": number} | changes, separators=(",", ":"))


def test_unfinished_file_lacks_nothing_yet(tmp_path: Path) -> None:
    with RunMatches(tmp_path / "matches.jsonl", PLANNED) as log:
        for match in played(7, 2, 11):
            log.write(match)
        log.finish()
    found = verify_file(tmp_path / "matches.jsonl")
    assert (found.matches, found.planned, found.finished, found.problems) == (3, 12, False, [])


@pytest.mark.parametrize(
    "change",
    [
        {"format": "gymposium-manifest-9"},
        {"count": 13},
        {"digest": 5},
        {"plan": 7},
        {"plan": [7]},
        {"plan": [{"tag": "m"}]},
        {"plan": [], "count": 10**18},
        {"more": 1},
    ],
)
def test_unreadable_manifest_is_a_problem(tmp_path: Path, change: dict[str, object]) -> None:
    file, lines = finished(tmp_path)
    manifest = tmp_path / "matches.manifest.json"
    data = json.loads(manifest.read_text())
    for text in (json.dumps(data | change), "{", "[" * 100_000):
        manifest.write_text(text)
        assert [str(manifest) in str(problem) for problem in verified(file, lines).problems] == [True]
    many = [part | {"matches": 10**18} for part in data["plan"]]
    manifest.write_text(json.dumps(data | {"plan": many, "count": 10**18}))
    assert [" planned matches are missing: 12, 13, 14, …" in str(one) for one in verify_file(file).problems] == [True]


def test_folder_without_matches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=f"{tmp_path} is not a run's folder"):
        find_match_files(tmp_path)
    (tmp_path / "matches").mkdir()
    (tmp_path / "matches" / "train.jsonl").touch()
    assert find_match_files(tmp_path) == [tmp_path / "matches" / "train.jsonl"]


def test_checking_writability_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "new" / "folder", tmp_path, tmp_path / "file"):
        assert check_writable("--out", path) == path
    for path in (tmp_path / "file" / "below", Path("/proc/new"), tmp_path / ("x" * 300)):
        with pytest.raises(BadOption, match=r"--out .*: cannot be written"):
            check_writable("--out", path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not (tmp_path / "file").read_bytes()


def test_pipe_or_socket_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", tmp_path / "socket"):
            with pytest.raises(BadOption, match=r"--out .*: cannot be written \(it is not a regular file\)"):
                check_writable("--out", path)
    assert check_writable("--out", Path("/dev/null")) == Path("/dev/null")
