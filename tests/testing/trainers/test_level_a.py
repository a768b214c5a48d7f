"""Level (a): the exact value of a trainer's policy, against the optimum."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from gymposium.games.registry import load_game
from gymposium_testing.contract import CheckFailed, NotApplicable
from gymposium_testing.trainers import TrainerTask, TrainingBudget
from gymposium_testing.trainers.checks import learning

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "conformance" / "table_adapter.py"
KUHN, GOOFSPIEL, DILEMMA = learning.TASKS


class Constant:
    """A trainer that learns nothing, and returns a policy that it was given."""

    self_play = True

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def train(self, task: TrainerTask, budget: TrainingBudget) -> Any:
        return self._policy


def test_documented_adapter_learns_kuhn_poker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MATCHES", 3_000)
    found = learning.measure_learning(runpy.run_path(str(EXAMPLE))["TableTrainer"](), KUHN)
    assert found.share >= 0.9
    assert found.optimum == pytest.approx(0.4583, abs=1e-4)


def test_defecting_solves_the_dilemma() -> None:
    defect, cooperate = Constant(lambda ask: [0.0, 1.0]), Constant(lambda ask: [1.0, 0.0])
    assert load_game("openspiel:matrix_pd").new(0).legal_moves(0) == ["Cooperate", "Defect"]
    learning.check_learning(defect, DILEMMA)
    with pytest.raises(CheckFailed, match=r"gets -?[0-9]+% of the way to the optimum"):
        learning.check_learning(cooperate, DILEMMA)


def test_replies_without_a_move_count_as_forfeits() -> None:
    whole = learning.measure_learning(Constant(lambda ask: [0.0, 1.0]), KUHN)
    half = learning.measure_learning(Constant(lambda ask: [0.0, 0.5]), KUHN)
    assert half.reached < 0.0 < whole.reached


def test_self_play_is_checked_only_if_supported() -> None:
    alone = Constant(None)
    alone.self_play = False
    with pytest.raises(NotApplicable):
        learning.check_learning(alone, DILEMMA)
