"""A run detects that an update broke the policy, rolls back, and ends with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gymposium_train.config.schedules import RunProgress
from gymposium_train.objective.gspo import GspoSettings
from gymposium_train.objective.ppo import PpoSettings
from gymposium_train.run.checkpoints import list_complete_checkpoints
from gymposium_train.run.health import MAX_IDLE_STEPS, MOST_SETBACKS, Health, StopRule
from gymposium_train.run.measures import CurveSchedule
from gymposium_train.run.start import start_run


def make_metrics(failed: float) -> dict[str, float]:
    return {"rollout/illegal": failed / 2, "rollout/unparsable": failed / 2, "rollout/cut_off": 0.0}


def test_policy_is_broken_if_replies_start_to_fail() -> None:
    health = Health()
    assert health.check_rollout(make_metrics(0.9)) == ""  # it could not answer before training either
    assert health.check_rollout(make_metrics(0.2)) == ""
    assert health.check_rollout(make_metrics(0.5)) == ""
    assert health.check_rollout(make_metrics(0.6)) == "60% of the replies fail"


def test_update_is_too_large_by_kl_or_clip_fraction() -> None:
    health = Health()
    assert health.check_update({}, 0.6) == ""  # there were no rows
    assert health.check_update({"train/approx_kl": 0.05, "train/clipfrac": 0.3}, 0.6) == ""
    assert "0.8 nats per token" in health.check_update({"train/approx_kl": 0.8}, 0.6)
    clipped = {"train/approx_kl": 0.05, "train/clipfrac": 0.7}
    assert "70% of the tokens" in health.check_update(clipped, PpoSettings().clip_limit)
    assert health.check_update(clipped | {"train/clipfrac": 1.0}, GspoSettings().clip_limit) == ""


def test_run_stops_after_steps_rollbacks_or_ties(quick_config: Any) -> None:
    health = Health()
    stop = StopRule(RunProgress(quick_config("steps=4", "control=false")), health)
    for _ in range(MAX_IDLE_STEPS - 1):
        stop.note({"train/rows": 0, "rollout/groups_tied": 2, "rollout/groups": 2})
    assert [stop.is_over(done) for done in (3, 3, 4, 3)] == [False, False, True, False], "asking changes nothing"
    stop.note({"train/rows": 0})
    assert (stop.tied, stop.idle, stop.is_over(3)) == (0, MAX_IDLE_STEPS, False)
    stop.note({"train/rows": 1, "rollout/groups_tied": 1, "rollout/groups": 2})
    assert (stop.tied, stop.idle) == (0, 0)
    for _ in range(MAX_IDLE_STEPS):
        stop.note({"train/rows": 0, "rollout/groups_tied": 2, "rollout/groups": 2})
    assert stop.is_over(3)
    health.setbacks, stop.tied = MOST_SETBACKS + 1, 0
    assert stop.is_over(3)


@pytest.mark.parametrize(("every", "due"), [(0, []), (3, [3, 6, 7]), (None, [1, 2, 3, 4, 5, 6, 7])])
def test_curve_has_regular_points_and_a_final_one(quick_config: Any, every: int | None, due: list[int]) -> None:
    pace = RunProgress(quick_config("steps=7", "control=false"))
    curve, found = CurveSchedule(every, pace, 0), []
    for done in range(1, 8):
        answers = [curve.is_due(done, is_over=pace.is_over(done)) for _ in range(2)]
        assert answers[0] == answers[1], "asking changes nothing"
        found += [done] if answers[0] else []
        curve.note(done)
    assert found == due


def test_budget_limits_time_for_curve_points(quick_config: Any) -> None:
    """Each step reaches another tenth of the budget, but points may take only a tenth of the time."""
    pace = RunProgress(quick_config("budget=100.0", "control=false", without=("steps", "rollout.growth")))
    curve, due = CurveSchedule(None, pace, 0), []
    for done in range(1, 5):
        pace.step(12.0)
        due.append(curve.is_due(done, is_over=False))
        curve.note(done)
        pace.spend(5.0 if done == 2 else 0.0)
    assert due == [True, True, False, True]


def test_run_rolls_back_and_ends_with_last_good_weights(
    quick_config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every update counts as too large."""
    monkeypatch.setattr("gymposium_train.run.health.KL_LIMIT", 0.0)
    config = quick_config(
        "steps=9", "checkpoints.every=9", "checkpoints.keep=9", "checkpoints.rollback=true", "evaluation.every=0",
        without=("evaluation.curve_matches",),
    )  # fmt: skip
    run = start_run(tmp_path / "run", config)
    steps = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert [entry["train/setbacks"] for entry in steps] == [1, 2, 3, 4]
    assert steps[3]["train/learning_rate"] < steps[0]["train/learning_rate"]
    versions = [entry["train/policy_version"] for entry in steps]
    assert versions == sorted(set(versions)), "no version is published twice"
    assert (run.results()["steps"], run.results()["setbacks"]) == (MOST_SETBACKS + 1, MOST_SETBACKS + 1)
    first, *_ = list_complete_checkpoints(run.checkpoints)
    assert first.name == "step-00000"
    adapters = [load_file(folder / "adapter_model.safetensors") for folder in (first, run.adapter)]
    assert all(torch.equal(tensor, adapters[1][name]) for name, tensor in adapters[0].items())
    said = " ".join(capsys.readouterr().err.split())
    assert "Step 1: the update changed the policy by" in said
    assert "Returning to the weights of step 0, with 0.5 of the learning rate." in said
    assert f"and training ends after {MOST_SETBACKS + 1} rollbacks." in said


@pytest.mark.slow
def test_run_with_steps_warns_and_learns_on(
    quick_config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pretrained model's runs have steps. Only runs with a budget roll back by default."""
    monkeypatch.setattr("gymposium_train.run.health.KL_LIMIT", 0.0)
    config = quick_config("steps=3", "evaluation.every=0", without=("evaluation.curve_matches",))
    assert not config.rolls_back
    assert quick_config("budget=1.0", without=("steps", "rollout.growth")).rolls_back
    run = start_run(tmp_path / "run", config)
    steps = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert [entry["train/setbacks"] for entry in steps] == [0, 0, 0]
    assert all(entry["train/rows"] for entry in steps)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("Step 1: the update changed the policy by") == said.count("Training continues.") == 1
    assert "Returning to the weights" not in said


@pytest.mark.slow
def test_rollback_weights_are_kept_while_needed(
    quick_config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The replies of steps 4 and 5 count as failed, those of step 5 after it went back: the last good weights are older
    than the newest checkpoints by then."""
    found = iter([0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.1])  # the first step asks twice
    monkeypatch.setattr("gymposium_train.run.health.compute_failed_share", lambda metrics: next(found))
    config = quick_config(
        "steps=6", "checkpoints.every=1", "checkpoints.keep=2", "checkpoints.rollback=true", "evaluation.every=0",
        without=("evaluation.curve_matches",),
    )  # fmt: skip
    run = start_run(tmp_path / "run", config)
    said = " ".join(capsys.readouterr().err.split())
    assert "Step 4: 90% of the replies fail" in said
    assert said.count("Returning to the weights of step 2") == 2
    assert [p.name for p in list_complete_checkpoints(run.checkpoints)] == ["step-00005", "step-00006"]
    assert run.results()["setbacks"] == 2
