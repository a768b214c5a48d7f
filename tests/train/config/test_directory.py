"""Files in a run directory are complete after any interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.util.durable import MARK
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory, is_complete, read_state, stage_directory
from gymposium_train.run.start import resume_run

CONFIG = TrainConfig(games=("tic_tac_toe",), steps=7)


def test_run_round_trips_with_its_config(tmp_path: Path) -> None:
    made = RunDirectory.create(tmp_path / "run", CONFIG)
    found, config = RunDirectory.open(tmp_path / "run")
    assert (found.path, config) == (made.path, CONFIG)
    assert json.loads(found.versions_file.read_text())["gymposium-train"]


def test_opening_a_run_writes_nothing(tmp_path: Path) -> None:
    """The config of another person is checked before anything is written."""
    made = RunDirectory.create(tmp_path / "run", CONFIG)
    made.versions_file.unlink()
    before = sorted(made.path.iterdir())
    found, _ = RunDirectory.open(made.path)
    assert sorted(made.path.iterdir()) == before
    found.write_versions()
    assert found.versions_file.is_file()


@pytest.mark.parametrize("name", [".versions.json.partial", "metrics.jsonl", "checkpoints", "loggers"])
def test_refuses_runs_with_links_to_outside(tmp_path: Path, name: str) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    (tmp_path / "link").symlink_to("run")  # the user's own
    assert RunDirectory.open(tmp_path / "link")[1] == CONFIG
    (run.path / name).symlink_to(tmp_path / "victim")
    for path in (run.path, tmp_path / "link"):
        with pytest.raises(BadOption, match="is a symbolic link that leads out of"):
            RunDirectory.open(path)
    assert not (tmp_path / "victim").exists()


def test_run_files_are_never_written_through_links(tmp_path: Path) -> None:
    """Links may appear after the run was opened."""
    run, victim = RunDirectory.create(tmp_path / "run", CONFIG), tmp_path / "victim"
    victim.write_text('{"stage": "train", "step": 9}')
    for file in (run.versions_file, run.results_file, run.metrics_file, run.samples_file):
        file.with_name(f".{file.name}.partial").symlink_to(victim)
    run.versions_file.unlink()
    run.write_versions()
    run.add_results(first=1)
    run.log({"stage": "train", "step": 1})
    run.remove_later_metrics("train", 0)
    for file in (run.metrics_file, run.samples_file):
        file.unlink(missing_ok=True)
        file.symlink_to(victim)
    for write in (lambda: run.log({"stage": "train", "step": 1}), lambda: run.remove_later_metrics("train", 0)):
        with pytest.raises(GymposiumError, match=r"symbolic link|cannot be written"):
            write()
    assert victim.read_text() == '{"stage": "train", "step": 9}'


def test_refuses_directories_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="not a run directory"):
        RunDirectory.open(tmp_path)
    (tmp_path / "something").touch()
    with pytest.raises(BadOption, match="--resume"):
        RunDirectory.create(tmp_path, CONFIG)


def test_truncated_metric_line_is_skipped(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    run.log({"stage": "train", "step": 1, "rollout/reward": float("nan")})
    with open(run.metrics_file, "a", encoding="utf-8") as file:
        file.write('{"stage": "train", "st')
    run.log({"stage": "train", "step": 2, "rollout/reward": 0.5})
    assert run.metrics() == [
        {"stage": "train", "step": 1, "rollout/reward": None},
        {"stage": "train", "step": 2, "rollout/reward": 0.5},
    ]


HOSTILE = [
    b"[" * 100_000,
    b'"text"',
    b"[1]",
    b"7",
    b"{}",
    b'{"stage": "train"}',
    b'{"stage": ["train"], "step": 1}',
    b'{"stage": "train", "step": "1"}',
    b'{"stage": "train", "step": NaN}',
    b'{"stage": "train", "stage": "control", "step": 1}',
    b"\xff\xfe",
    b"",
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_invalid_metric_lines_are_skipped(tmp_path: Path, line: bytes) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    for file in (run.metrics_file, run.samples_file):
        file.write_bytes(b'{"stage": "train", "step": 1}\n' + line + b'\n{"stage": "train", "step": 2}\n')
    assert [entry["step"] for entry in run.metrics()] == [1, 2]
    run.remove_later_metrics("train", 1)
    assert [entry["step"] for entry in run.metrics()] == [1]
    assert run.samples_file.read_bytes().count(b"\n") == 2


def make_sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(3 * 2**30)


@pytest.mark.parametrize("make", [os.mkfifo, make_sparse])
@pytest.mark.parametrize("name", ["metrics.jsonl", "samples.jsonl"])
def test_pipes_and_huge_files_are_refused_at_once(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    make(run.path / name)
    with pytest.raises(GymposiumError, match=name):
        run.remove_later_metrics("train", 1)
    if name == "metrics.jsonl":
        with pytest.raises(GymposiumError, match=r"Cannot read .*metrics\.jsonl"):
            run.metrics()
    if make is os.mkfifo:
        with pytest.raises(BadOption, match="is not a regular file"):
            RunDirectory.open(run.path)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", '{"a": 1, "a": 2}', '{"a": NaN}', "{", ""])
def test_state_is_parsed_strictly(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(GymposiumError, match=r"(Cannot read .*state\.json|state\.json does not contain)"):
        read_state(tmp_path / "state.json")


@pytest.mark.parametrize(
    "text",
    [
        "nope",
        "[]",
        '{"evaluations": []}',
        '{"evaluations": {"cold start": 3}}',
        '{"evaluations": {"cold start": {"hex": {"random": {"return": [1, 0, 0]}}}}}',
        '{"gains": {"cold start": {"hex": {"random": [0, 0, 0]}}}}',
        '{"cold_start_cpu_seconds": "x"}',
        "{}",
        '{"train_cpu_seconds": 1, "steps": []}',
    ],
)
def test_refuses_to_resume_with_damaged_results(tmp_path: Path, text: str) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    run.adapter.mkdir()
    (run.adapter / MARK).touch()
    run.results_file.write_text(text)
    with pytest.raises(BadRecord, match=r"results\.json"):
        resume_run(run.path)


def test_last_line_of_a_repeated_step_wins(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    for stage, step, reward in (("train", 1, 0.1), ("train", 2, 0.2), ("control", 2, 0.3), ("train", 2, 0.4)):
        run.log({"stage": stage, "step": step, "rollout/reward": reward})
    assert [(m["stage"], m["step"], m["rollout/reward"]) for m in run.metrics()] == [
        ("train", 1, 0.1),
        ("train", 2, 0.4),
        ("control", 2, 0.3),
    ]


def test_results_accumulate(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    assert run.results() == {}
    run.add_results(first=1)
    run.add_results(second={"figure": float("inf")})
    assert run.results() == {"first": 1, "second": {"figure": None}}


def test_directory_is_rewritten_over_leftovers(tmp_path: Path) -> None:
    place = tmp_path / "model"
    place.mkdir()
    (place / "half").touch()
    (tmp_path / ".model.0000.partial").mkdir()
    with stage_directory(place) as staging:
        assert not is_complete(place)
        (staging / "all").touch()
    assert is_complete(place)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model"]
    assert not (place / "half").exists()
