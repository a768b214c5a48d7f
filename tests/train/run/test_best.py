"""A run ends with its best weights if its final ones are clearly worse."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from gymposium.runs.curves import Curves
from gymposium.runs.results import build_learning_curves
from gymposium_train.config.writing import config_to_data
from gymposium_train.learner.tensor_files import read_tensors
from gymposium_train.run import training
from gymposium_train.run.best import BestPoint, compute_advantage
from gymposium_train.run.checkpoints import list_complete_checkpoints, read_step
from gymposium_train.run.start import start_run


def test_advantage_is_in_units_of_the_interval() -> None:
    assert compute_advantage({"a": (0.5, 0.1)}, {"a": (0.1, 0.0)}) == pytest.approx(4.0)
    assert compute_advantage({"a": (0.5, 0.3), "b": (-9.0, 3.0)}, {"a": (0.1, 0.4), "b": (0.0, 4.0)}) == pytest.approx(
        -0.5
    )
    assert compute_advantage({"a": (1.0, 0.0)}, {"a": (3.0, 0.0)}) == -1.0


def test_clearly_worse_final_point_reverts_to_best() -> None:
    before = {"a": (0.1, 0.1)}
    best = BestPoint(0, before, before)
    assert best.note(10, {"a": (0.5, 0.1)})
    assert not best.note(20, {"a": (0.4, 0.1)})
    assert not best.is_lost, "within the interval of the difference"
    assert (best.note(30, {"a": (0.3, 0.1)}), best.is_lost) == (False, True)
    again = BestPoint.restored(asdict(best))
    assert (again.step, again.is_lost) == (10, True)


@pytest.mark.parametrize(("best", "kept"), [("true", 2), ("false", 4)])
def test_training_ends_with_the_best_weights(
    tmp_path: Path, quick_config: Any, monkeypatch: pytest.MonkeyPatch, best: str, kept: int
) -> None:
    found = {1: 1.0, 2: 3.0, 3: 2.0, 4: 1.0}

    def curve_point(run: Any, tag: str, player: Any) -> Any:
        return {}, {game.name: (found[int(tag.removeprefix("curve-"))], 0.1) for game in run.games}

    monkeypatch.setattr(training, "measure_curve_point", curve_point)
    run = start_run(tmp_path / "run", quick_config("evaluation.every=1", f"checkpoints.best={best}", "control=false"))
    results = run.results()
    assert (results["steps"], results["kept_step"]) == (4, kept)
    saved = next(
        (p for p in list_complete_checkpoints(run.best) if read_step(p) == kept), run.checkpoints / "step-00004"
    )
    expected, adapter = (load_file(path / "adapter_model.safetensors") for path in (saved, run.adapter))
    assert all((adapter[name] == tensor).all() for name, tensor in expected.items())
    with read_tensors(saved) as tensors:  # the best weights have no optimizer state
        assert any(name.startswith("optimizer|") for name in tensors) == (best == "false")
    curves = Curves(run.metrics_file)
    curves.refresh()
    for curve in build_learning_curves(config_to_data(quick_config()), results, curves):
        assert curve.points[-1].step == kept
