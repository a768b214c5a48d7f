"""`gymposium audit` on logs that the real libraries write here: `tox run -e audit` installs them.

kaggle-environments is installed without its dependencies, since it pins other versions of OpenSpiel and Gymnasium; its
games here need none of them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file
from gymposium.util.lines import LineWriter
from gymposium_arena.audit import Audit, audit_logs

from .audit_logs import inspect_log, kaggle_log, openspiel_log, textarena_log

pytestmark = pytest.mark.filterwarnings("default")  # the libraries' own


def audit_log(path: Path, tmp_path: Path, least: int) -> Audit:
    """The audit of a log, all of whose episodes agree; its records verify."""
    audit = audit_logs([path])
    assert audit.problems == []
    assert len(audit.episodes) >= least
    records = tmp_path / "records.jsonl"
    with LineWriter(records) as file:
        file.append_lines(*(record.line() for record in audit.records))
    verified = verify_file(records)
    assert verified.problems == []
    assert verified.matches == len(audit.records)
    return audit


def count_causes(audit: Audit) -> Counter[str]:
    """The number of forfeits by cause."""
    return Counter(cause for episode in audit.episodes for cause in episode.failures.values())


def count_results(audit: Audit) -> Counter[str]:
    """The number of results of the first seat."""
    return Counter(record.results[0] for record in audit.records)


@pytest.mark.slow
def test_openspiel_trajectories_agree(tmp_path: Path) -> None:
    games = [
        "tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "backgammon", "goofspiel(num_cards=4)", "pig",
        "liars_dice", "bargaining", "hearts", "oshi_zumo", "coin_game", "gin_rummy", "bridge", "hanabi", "chess",
    ]  # fmt: skip
    openspiel_log(tmp_path / "log.jsonl", games, 2, 1)
    audit = audit_log(tmp_path / "log.jsonl", tmp_path, 32)
    assert {"win", "loss"} <= count_results(audit).keys()
    assert not count_causes(audit)


def test_early_ending_trajectory_is_unfinished(tmp_path: Path) -> None:
    import pyspiel

    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    for action in (2, 0, 1):
        state.apply_action(action)
    path = tmp_path / "log.json"
    path.write_text(pyspiel.Trajectory(state).to_string(), encoding="utf-8")
    audit = audit_logs([path])
    assert (audit.problems, audit.records) == ([], [])
    assert audit.episodes[0].unfinished == "the log ends where seat 1 is to move"


def test_textarena_episodes_agree(tmp_path: Path) -> None:
    pytest.importorskip("textarena", reason="textarena is not installed: tox run -e audit")
    pytest.importorskip("gymposium_textarena", reason="gymposium-textarena is not installed: tox run -e audit")
    envs = [
        "TicTacToe-v0", "TicTacToe-v0-raw", "ConnectFour-v0", "ConnectFour-v0-blind", "Othello-v0", "Othello-v0-hard",
        "Nim-v0", "Nim-v0-medium", "Nim-v0-large",
    ]  # fmt: skip
    textarena_log(tmp_path / "log.jsonl", envs, 8, 3, 0.3)
    audit = audit_log(tmp_path / "log.jsonl", tmp_path, 72)
    assert {"win", "loss", "draw"} == count_results(audit).keys()
    assert {"illegal", "unparsable"} == count_causes(audit).keys()


KAGGLE: list[tuple[str, Any, int]] = [
    *[("connectx", None, 0)] * 6,
    ("connectx", 99, 1),
    ("connectx", "left", 2),
    *[("open_spiel_tic_tac_toe", None, 0)] * 5,
    ("open_spiel_tic_tac_toe", {"submission": 99}, 1),
    ("open_spiel_tic_tac_toe", {"submission": "centre"}, 1),
    ("open_spiel_tic_tac_toe", {"submission": -2}, 1),
    ("open_spiel_backgammon", None, 0),
    ("open_spiel_backgammon", {"submission": 99_999}, 3),
    ("open_spiel_goofspiel", None, 0),
    ("open_spiel_goofspiel", {"submission": 17}, 1),
    ("open_spiel_bargaining", None, 0),
    ("open_spiel_hearts", None, 0),
    ("open_spiel_connect_four", None, 0),
    ("open_spiel_breakthrough", None, 0),
]


def test_kaggle_environments_episodes_agree(tmp_path: Path) -> None:
    pytest.importorskip("kaggle_environments", reason="kaggle-environments is not installed: tox run -e audit")
    from kaggle_environments.errors import DeadlineExceeded

    late, crash = DeadlineExceeded(), RuntimeError("an agent's own error")
    path = tmp_path / "log.jsonl"
    failures = [(env, last, 1) for env in ("connectx", "open_spiel_tic_tac_toe") for last in (late, crash)]
    kaggle_log(path, [*KAGGLE, *failures], 5)
    kaggle_log(path, [case for case in [*KAGGLE, *failures] if case[0] == "open_spiel_tic_tac_toe"], 50, strict=True)
    audit = audit_log(path, tmp_path, 34)
    assert {"win", "loss"} <= count_results(audit).keys()
    assert {"illegal", "unparsable", "timed out", "crashed"} == count_causes(audit).keys()
    assert not any(episode.unfinished for episode in audit.episodes)


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_inspect_ai_logs_agree(log_format: str, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: tox run -e audit")
    pytest.importorskip("gymposium_inspect", reason="gymposium-inspect is not installed: tox run -e audit")
    folder = tmp_path / "logs"
    for seed, game in enumerate(("tic_tac_toe", "kuhn_poker", "connect_four")):
        inspect_log(folder, game, 8, seed, log_format=log_format, nonsense=0.25)
    audit = audit_log(folder, tmp_path, 24)
    assert {"win", "loss"} <= count_results(audit).keys()
    assert {"illegal", "unparsable"} == count_causes(audit).keys()


def test_log_of_another_inspect_ai_task_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: tox run -e audit")
    from inspect_ai import Task, eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    output = ModelOutput.from_content("mockllm/model", "4")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    model = get_model("mockllm/model", custom_outputs=[output])
    (log,) = inspect_eval(Task(dataset=[Sample("2 + 2?")]), model=model, log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success"
    ((where, problem),) = audit_logs([tmp_path / "logs"]).problems
    assert where.endswith(".json")
    assert "gymposium-inspect did not finish this sample" in problem
