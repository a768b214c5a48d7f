"""A run's folder: nobody shares it, and its matches are kept, each once, in the end in order."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gymposium import load_game, make_player
from gymposium.driver import MatchJob, MatchResult, play
from gymposium.ending import OVER, Ending
from gymposium.errors import BadOption
from gymposium.runs.folder import RunFolder, RunMatches, new_folder
from gymposium.writable import check_writable

PLANNED = {f"m-{number}": number for number in range(12)}


def played(*numbers: int) -> list[MatchResult]:
    game, players = load_game("kuhn_poker"), [make_player("random")] * 2
    return list(play([MatchJob(f"m-{number}", game, players, number) for number in numbers], at_once=1))


def test_folders_are_named_by_date_command_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = [str(new_folder(command)) for command in ("run", "run", "eval", "run")]
    assert [re.sub(r"\d{4}-\d\d-\d\d", "DATE", name) for name in made] == [
        "gymposium-runs/DATE-run-1",
        "gymposium-runs/DATE-run-2",
        "gymposium-runs/DATE-eval-1",
        "gymposium-runs/DATE-run-3",
    ]
    Path(made[0]).rmdir()
    assert str(new_folder("run")).endswith("-run-4")  # a name is not given twice


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "a", "run", {"game": "hex"})
    with pytest.raises(BadOption, match=f"--resume {tmp_path / 'a'}"):
        RunFolder.create(tmp_path / "a", "run", {})
    assert RunFolder.open(tmp_path / "a", "run").settings == {"game": "hex"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no run of gymposium run"),
        ("{", "cannot be read"),
        ("[1]", "no settings of format"),
        ('{"format": "gymposium-run-9", "settings": {}}', "no settings of format"),
        ('{"format": "gymposium-run-1", "command": "eval", "settings": {}}', "another command:  gymposium eval"),
    ],
)
def test_what_is_no_run_does_not_go_on(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "settings.json").write_text(text)
    with pytest.raises(BadOption, match=said):
        RunFolder.open(tmp_path, "run")


def test_matches_are_in_the_file_at_once_and_in_the_end_in_order(tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    with RunMatches(file, PLANNED) as log:
        for number, match in enumerate(played(7, 2, 11), start=1):
            log.write(match)
            assert len(file.read_text().splitlines()) == number
    with open(file, "a") as torn:
        torn.write('{"format": "gymposium-match-4", "id": "m-')
    with RunMatches(file, PLANNED) as log:
        assert log.finished == {"m-7", "m-2", "m-11"}
        for match in played(*(number for number in range(12) if f"m-{number}" not in log.finished)):
            log.write(match)
        assert [record.id for record in log.in_order()] == [*PLANNED]
    with RunMatches(tmp_path / "whole.jsonl", PLANNED) as log:
        for match in played(*range(12)):
            log.write(match)
        assert len([*log.in_order()]) == 12
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_match_that_broke_off_stays_and_is_played_again(tmp_path: Path) -> None:
    [whole] = played(3)
    [broken] = played(3)
    broken.ending, broken.paid = Ending("broke off", detail="RuntimeError: out of ink"), ()
    with RunMatches(tmp_path / "m", PLANNED) as log:
        log.write(broken)
        assert not log.finished
        log.write(whole)
        assert [record.ending for record in log.in_order()] == [OVER]
    errors = [json.loads(line)["ending"]["detail"] for line in (tmp_path / "m").read_text().splitlines()]
    assert errors == ["RuntimeError: out of ink", ""]


@pytest.mark.parametrize("line", ['{"id": "m-1"}', "nonsense", None])
def test_a_line_that_is_none_of_the_run_is_named_and_kept(tmp_path: Path, line: str | None) -> None:
    file = tmp_path / "matches.jsonl"
    with RunMatches(file, {**PLANNED, "other-1": 12}) as log:
        [match] = played(1)
        match.job.id = "other-1" if line is None else match.job.id
        log.write(match)
    file.write_text(file.read_text() + (f"{line}\n" if line else ""))
    before = file.read_bytes()
    with pytest.raises(BadOption, match=rf"matches.jsonl:{1 if line is None else 2} is .* Remove that line"):
        RunMatches(file, PLANNED)
    assert file.read_bytes() == before


def test_whether_something_can_be_written_is_asked_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "new" / "folder", tmp_path, tmp_path / "file"):
        assert check_writable("--out", path) == path
    for path in (tmp_path / "file" / "below", Path("/proc/new"), tmp_path / ("x" * 300)):
        with pytest.raises(BadOption, match=r"--out .*: cannot be written"):
            check_writable("--out", path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not (tmp_path / "file").read_bytes()
