"""A run ends with its best weights if its final ones are clearly worse."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from safetensors.torch import load_file

from gymposium.games.registry import load_game
from gymposium.runs.curves import Curves
from gymposium.runs.results import build_learning_curves
from gymposium_train.config.writing import config_to_data
from gymposium_train.learner.tensor_files import read_tensors
from gymposium_train.run import training
from gymposium_train.run.best import BestPoint, compute_advantage
from gymposium_train.run.checkpoints import list_complete_checkpoints, read_step
from gymposium_train.run.start import start_run

GAMES = (load_game("kuhn_poker"), load_game("tic_tac_toe"))


def repeat(*returns: float | None) -> dict[str, list[float | None]]:
    """Return these returns in kuhn_poker, forty times."""
    return {"kuhn_poker": [*returns] * 40}


def test_points_are_compared_in_equal_deals() -> None:
    """The gain is in units of the interval that SciPy computes from the differences of the deals' means. Without pairs,
    the difference would not count."""
    rng = random.Random(1)
    before = [rng.choice((-2.0, -1.0, 1.0, 2.0)) for _ in range(100)]
    after = [min(2.0, value + 1.0) if rng.random() < 0.2 else value for value in before]
    gains = [(after[n] + after[n + 1] - before[n] - before[n + 1]) / 2 for n in range(0, 100, 2)]
    paired = scipy.stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
    apart = scipy.stats.ttest_ind(after, before).confidence_interval(0.95)
    assert paired.high - paired.low < 0.3 * (apart.high - apart.low)
    assert apart.low < 0.0 < paired.low
    game, gain = GAMES[0], statistics.fmean(gains)
    extended = [*gains, 2 * min(gains) - max(gains)]  # as `estimate_mean` does for bounded values
    low = scipy.stats.ttest_1samp(extended, 0.0).confidence_interval(0.95).low
    found = compute_advantage(GAMES[:1], {game.name: after}, {game.name: before})
    assert 1.0 < found == pytest.approx(gain / (gain - low))
    assert compute_advantage(GAMES[:1], {game.name: before}, {game.name: after}) < -1.0
    equal = {"tic_tac_toe": [1.0] * 100}
    halved = compute_advantage(GAMES, {game.name: after, **equal}, {game.name: before, **equal})
    assert halved == pytest.approx(found / 2), "the mean over the games"


def test_gain_without_an_interval_counts_as_one() -> None:
    assert compute_advantage(GAMES[:1], {"kuhn_poker": [1.0, 1.0]}, {"kuhn_poker": [1.0, -1.0]}) == 1.0
    assert compute_advantage(GAMES[:1], {"kuhn_poker": [None, 1.0]}, {"kuhn_poker": [1.0, -1.0]}) == 0.0
    assert compute_advantage((), {}, {}) == 0.0


def test_clearly_worse_final_point_reverts_to_best() -> None:
    before = repeat(-1.0, -1.0, 1.0, 1.0)
    best = BestPoint(GAMES[:1], 0, before, before)
    assert best.note(10, repeat(1.0, 1.0, 1.0, 1.0))
    assert not best.note(20, {"kuhn_poker": [-1.0, 1.0] + [1.0] * 158})
    assert not best.is_lost, "within the interval of the difference"
    assert (best.note(30, repeat(-1.0, 1.0, 1.0, 1.0)), best.is_lost) == (False, True)
    again = BestPoint.restored(GAMES[:1], json.loads(json.dumps(best.state())))
    assert (again.step, again.is_lost) == (10, True)


@pytest.mark.parametrize(("best", "kept"), [("true", 2), pytest.param("false", 4, marks=pytest.mark.slow)])
def test_training_ends_with_the_best_weights(
    tmp_path: Path, quick_config: Any, monkeypatch: pytest.MonkeyPatch, best: str, kept: int
) -> None:
    found = {0: 0.0, 1: 0.0, 2: 1.0, 3: 0.5, 4: 0.0}

    def curve_point(run: Any, tag: str, player: Any) -> Any:
        return {}, {game.name: [found[int(tag.removeprefix("curve-"))]] * 40 for game in run.games}

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
