"""Whole runs through the real command: what they leave, how they are interrupted and go on, and what they refuse."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption
from gymposium.players.grammar import make_player
from gymposium.records import read_records, verify_file
from gymposium_train.config import Grpo, TrainConfig, build
from gymposium_train.directory import RunDirectory, write_json

COMMAND = [sys.executable, "-m", "gymposium.cli.main", "train"]
SMALL = (
    "--steps 6 --group-size 8 --final-group-size 12 --cold-start-steps 12 --cold-start-games 200 --eval-matches 20 "
    "--search-matches 4 --eval-opponents random,mcts-5 --curve-every 2 --checkpoint-every 2"
).split()


ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}  # sums come out the same to the bit


def train(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, env=ONE_THREAD)


def without_times(data: Any) -> Any:
    """Metrics or results without what a clock measured."""
    if isinstance(data, list):
        return [without_times(one) for one in data]
    if isinstance(data, dict):
        return {k: without_times(v) for k, v in data.items() if not k.startswith(("cpu", "seconds"))}
    return data


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, TrainConfig, str]:
    path = tmp_path_factory.mktemp("runs") / "whole"
    done = train("--game", "tic_tac_toe", "--seed", "3", "--control", "--out", str(path), *SMALL)
    assert done.returncode == 0, done.stderr
    return (*RunDirectory.open(path), done.stdout)


def test_a_run_leaves_everything(finished: tuple[RunDirectory, TrainConfig, str]) -> None:
    run, config, printed = finished
    results = run.results()
    assert set(results["evaluations"]) == {"cold start", "grpo", "control", "anchor random", "anchor mcts-5"}
    assert all(set(scores) == {"random", "mcts-5"} for scores in results["evaluations"].values())
    assert results["optima"]["most wins"]["win"] == pytest.approx(0.9667, abs=1e-4)
    assert results["optima"]["best return"]["return"] == pytest.approx(0.9598, abs=1e-4)
    assert results["optima"]["minimax-safe"]["win"] == pytest.approx(0.9556, abs=1e-4)
    assert results["control_cpu_seconds"] >= results["grpo_cpu_seconds"] > 0
    assert not verify_file(run.matches("control")).problems
    assert config == build(TrainConfig, json.loads(run.config_file.read_text()))
    assert json.loads((run.path / "versions.json").read_text())["torch"]
    stages = [entry["stage"] for entry in run.metrics()]
    assert (stages.count("cold start"), stages.count("grpo"), stages.count("curve")) == (12, 6, 2)
    assert stages.count("control") > 0
    for name in ("base/model.safetensors", "cold_start/COMPLETE", "adapter/adapter_model.safetensors"):
        assert (run.path / name).is_file(), name
    canaries = [entry["canary"] for entry in run.metrics() if entry["stage"] == "grpo" and entry["groups_kept"]]
    assert canaries
    assert all(0.0 <= difference < 1e-5 for difference in canaries)
    assert "after GRPO" in printed
    assert "exact, most wins" in printed


def test_every_match_of_a_run_is_recorded_and_verifies(finished: tuple[RunDirectory, TrainConfig, str]) -> None:
    run, config, _ = finished
    expected = {
        "cold_start": config.cold_start.games,
        "train": sum(2 * config.grpo.group_size_at(step) for step in range(config.grpo.steps)),
        "eval": 5 * (20 + 4) + 2 * config.evaluation.curve_matches,
    }
    for stage, matches in expected.items():
        verification = verify_file(run.matches(stage))
        assert (verification.matches, verification.problems) == (matches, [])


def test_the_report_stands_alone_and_shows_the_figures(finished: tuple[RunDirectory, TrainConfig, str]) -> None:
    run, _, _ = finished
    page = run.report.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))
    for text in ("after GRPO", "control", "exact, most wins", "0.9667"):
        assert text in page


def test_the_result_is_a_player_for_every_command(finished: tuple[RunDirectory, TrainConfig, str]) -> None:
    run, _, _ = finished
    done = subprocess.run(
        [
            *(sys.executable, "-m", "gymposium.cli.main", "run", "tic_tac_toe", "-n", "4", "--json"),
            *("--players", f"random,lm:{run.cold_start}@{run.adapter}", "--record", str(run.path / "more.jsonl")),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["players"][1]["matches"] == 4


def test_the_same_seed_gives_the_same_run_though_it_was_interrupted(
    finished: tuple[RunDirectory, TrainConfig, str], tmp_path: Path
) -> None:
    """Ctrl-C in the middle of training, a checkpoint and a record cut off, then --resume: equal to the bit."""
    whole, _, _ = finished
    path = tmp_path / "interrupted"
    begin = [*COMMAND, "--game", "tic_tac_toe", "--seed", "3", "--out", str(path), *SMALL]
    with subprocess.Popen(begin, stderr=subprocess.PIPE, text=True, env=ONE_THREAD) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("GRPO: 3/"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert f"--resume {path}" in rest
    run = RunDirectory(path)
    assert "grpo" not in run.results()["evaluations"]

    with open(run.matches("train"), "a", encoding="utf-8") as file:
        file.write('{"format": "gymposium-match-1", "id": "train-5')
    (run.checkpoints / "step-00099").mkdir()
    done = train("--resume", str(path))
    assert done.returncode == 0, done.stderr
    assert "step-00099" in done.stderr
    assert done.stderr.count("train.jsonl:") == 1

    others = [entry for entry in whole.metrics() if entry["stage"] != "control"]
    assert without_times(run.metrics()) == without_times(others)
    for what in ("cold start", "grpo"):
        found, expected = (directory.results()["evaluations"][what] for directory in (run, whole))
        assert without_times(found) == without_times(expected)
    weights = "adapter/adapter_model.safetensors"
    assert (path / weights).read_bytes() == (whole.path / weights).read_bytes()

    def ids(directory: RunDirectory) -> list[str]:
        records = [record for _, record in read_records(directory.matches("train"))]
        return sorted(getattr(record, "id", "broken") for record in records)

    assert ids(run) == sorted([*ids(whole), "broken"])


@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(num_cards=4)", "2048"])
def test_any_game_by_the_same_command(tmp_path: Path, game: str) -> None:
    arguments = "--steps 1 --group-size 4 --cold-start-steps 2 --cold-start-games 8 --eval-matches 4 --search-matches 2"
    done = train("--game", game, "--eval-opponents", "random", "--out", str(tmp_path / "run"), *arguments.split())
    assert done.returncode == 0, done.stderr
    results = RunDirectory(tmp_path / "run").results()
    assert "grpo" in results["evaluations"]
    assert results["optima"] == {}


def test_a_model_directory_instead_of_one_made_here(tmp_path: Path, model_directory: Path) -> None:
    arguments = "--steps 1 --group-size 4 --cold-start-steps 0 --eval-matches 4 --eval-opponents random --json"
    done = train(
        "--game", "kuhn_poker", "--model", str(model_directory), "--out", str(tmp_path / "run"), *arguments.split()
    )
    assert done.returncode == 0, done.stderr
    assert "grpo" in json.loads(done.stdout)["evaluations"]
    assert not (tmp_path / "run" / "base").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Say which game"),
        (["--game", "tic_tac_tow"], "tic_tac_toe"),
        (["--game", "tic_tac_toe", "--opponent", "randon"], "random"),
        (["--game", "tic_tac_toe", "--model", "no/such-directory/here"], "There is no model"),
        (["--game", "tic_tac_toe", "--on-illegal", "shrug"], "forfeit"),
        (["--game", "tic_tac_toe", "--eval-matches", "7"], "multiple of 2"),
        (["--game", "tic_tac_toe", "--on-illegal", "random"], "cannot be trained with"),
        (["--game", "tic_tac_toe", "--reward", "winnings"], "no reward called 'winnings'"),
        (["--game", "tic_tac_toe", "--reward", "weighted(acuracy=1)"], "Did you mean 'accuracy'"),
        (["--resume", "nowhere"], "not a run directory"),
        (["--resume", "nowhere", "--steps", "5"], "leave out steps"),
    ],
)
def test_bad_input_is_told_before_any_work(tmp_path: Path, arguments: list[str], message: str) -> None:
    where = [] if "--resume" in arguments else ["--out", str(tmp_path / "run")]
    done = train(*arguments, *where)
    assert done.returncode == 2
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_run_that_is_paid_by_weighted_criteria_reports_each(tmp_path: Path) -> None:
    """One of them is the user's own, from a module beside."""
    (tmp_path / "own_rewards.py").write_text("def moves(group):\n    return [-len(t.turns) for t in group]\n")
    arguments = "--steps 2 --group-size 8 --cold-start-steps 6 --cold-start-games 100 --eval-matches 4"
    reward = "weighted(accuracy=1,efficiency=0.2,own_rewards:moves=0.01)"
    done = subprocess.run(
        [*COMMAND, *arguments.split(), "--game", "tic_tac_toe", "--eval-opponents", "random", "--reward", reward]
        + ["--out", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        env={**ONE_THREAD, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    run, config = RunDirectory.open(tmp_path / "run")
    assert config.reward == reward
    steps = [entry for entry in run.metrics() if entry["stage"] == "grpo"]
    for entry in steps:
        parts = entry["reward_parts"]
        assert entry["reward"] == pytest.approx(
            parts["accuracy"] + 0.2 * parts["efficiency"] + 0.01 * parts["own_rewards:moves"]
        )
        assert parts["own_rewards:moves"] < 0
    page = run.report.read_text(encoding="utf-8")
    assert reward in page
    assert "own_rewards:moves" in re.sub(re.escape(reward), "", page)


def test_a_directory_in_use_is_refused(finished: tuple[RunDirectory, TrainConfig, str]) -> None:
    run, _, _ = finished
    done = train("--game", "tic_tac_toe", "--out", str(run.path))
    assert done.returncode == 2
    assert "--resume" in done.stderr


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(BadOption, match="stepz"):
        build(Grpo, {"stepz": 3})


def test_groups_grow_and_rates_fall() -> None:
    settings = Grpo(steps=5, group_size=10, final_group_size=40, entropy=0.1, final_entropy=0.0, warmup_steps=2)
    assert [settings.group_size_at(step) for step in range(5)] == [10, 14, 20, 28, 40]
    assert settings.entropy_at(0) == 0.1
    assert settings.entropy_at(4) == pytest.approx(0.0)
    assert settings.learning_rate_at(0) == settings.learning_rate / 2
    assert settings.learning_rate_at(4) == pytest.approx(settings.learning_rate * settings.final_rate)


def test_a_run_stopped_behind_its_last_step_goes_on_with_the_control(
    finished: tuple[RunDirectory, TrainConfig, str], tmp_path: Path
) -> None:
    """The steps are done and measured, the control was cut off: it begins anew and has its whole budget."""
    whole, _, _ = finished
    path = tmp_path / "stopped"
    shutil.copytree(whole.path, path)
    run = RunDirectory(path)
    (run.control / "COMPLETE").unlink()
    (path / "report.html").unlink()
    results = run.results()
    del results["evaluations"]["control"]
    write_json(run.results_file, results)
    done = train("--resume", str(path))
    assert done.returncode == 0, done.stderr
    assert "GRPO:" not in done.stderr
    assert run.results()["evaluations"]["grpo"] == results["evaluations"]["grpo"]
    assert "control" in run.results()["evaluations"]
    assert run.results()["control_cpu_seconds"] >= results["grpo_cpu_seconds"]
    assert run.report.is_file()


def test_where_every_group_ties_the_run_says_so(tmp_path: Path, model_directory: Path) -> None:
    """An untrained model's replies are all cut off: every match is a forfeit, and no group can teach."""
    arguments = "--steps 12 --group-size 2 --cold-start-steps 0 --eval-matches 2 --eval-opponents random --max-tokens 1"
    done = train(
        "--game", "kuhn_poker", "--model", str(model_directory), "--out", str(tmp_path / "run"), *arguments.split()
    )
    assert done.returncode == 2
    assert "nothing to learn from" in done.stderr
    assert "cut off" in done.stderr


def test_a_metric_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", TrainConfig(game="tic_tac_toe"))
    run.log({"stage": "grpo", "step": 1, "reward": float("nan")})
    with open(run.metrics_file, "a", encoding="utf-8") as file:
        file.write('{"stage": "grpo", "st')
    run.log({"stage": "grpo", "step": 2, "reward": 0.5})
    assert run.metrics() == [
        {"stage": "grpo", "step": 1, "reward": None},
        {"stage": "grpo", "step": 2, "reward": 0.5},
    ]


def test_a_trained_player_is_asked_as_it_was_trained(tmp_path: Path, model_directory: Path) -> None:
    arguments = "--steps 1 --group-size 2 --cold-start-steps 0 --eval-matches 2 --eval-opponents random --prompt full"
    done = train(
        *("--game", "kuhn_poker", "--model", str(model_directory), "--out", str(tmp_path / "run")),
        *(*arguments.split(), "--reply", "tags", "--max-tokens", "3"),
    )
    assert done.returncode == 0, done.stderr
    player = make_player(f"lm:{model_directory}@{tmp_path / 'run' / 'adapter'}")
    assert (player.style, player.reader.name) == ("full", "tags")
