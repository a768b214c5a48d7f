"""The exact policy gradient, beside finite differences of the exact mean return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.trainers.planting import loop_trainer
from gymposium.games.registry import load_game
from gymposium.testing.trainers import TrainerTask, spellings
from gymposium.testing.trainers.traversal import GameTree, _worths


@pytest.mark.parametrize("opponent", ["self", "random"])
def test_the_exact_gradient_is_that_of_the_mean_return(opponent: Any, tmp_path: Path) -> None:
    """In self-play each seat's return counts for its own decisions alone, so the weights of one seat are moved."""
    task = TrainerTask(load_game("kuhn_poker"), opponent)
    with loop_trainer(tmp_path) as trainer:
        model: Any = trainer.begin(task, 0)
    tree = GameTree(task, model)
    odds = tree.probabilities(model)
    exact = sum(
        factor * model.gradient(*answer) for answer, factor in tree.coefficients(odds).items() if factor
    )
    prompts = {prompt: seat for (seat, _), prompt in tree.prompts.items()}
    table: torch.Tensor = model._weights
    for seat in (0, 1):
        of_seat = sum(
            (factor * model.gradient(*answer) for answer, factor in tree.coefficients(odds).items()
             if prompts.get(answer[0]) == seat),
            np.zeros(table.numel()),
        )  # fmt: skip
        place = int(np.abs(of_seat).argmax())
        step = 1e-5

        def worth(shift: float) -> float:
            with torch.no_grad():
                table.view(-1)[place] += shift
                found = tree.probabilities(model)
                table.view(-1)[place] -= shift
            if opponent == "self":
                return _worths(tree._trees[0], found)[0][seat]
            return _worths(tree._trees[seat], found)[0][seat] / 2

        slope = (worth(step) - worth(-step)) / (2 * step)
        assert slope == pytest.approx(of_seat[place], rel=1e-4)
        assert abs(slope) > 1e-4
    assert np.isfinite(exact).all()


def test_spellings_are_all_ways_to_write_a_text() -> None:
    vocabulary = ["", "bet", "b", "et", "e", "t", "pass"]
    assert spellings("bet", vocabulary, 0) == [(1, 0), (2, 3, 0), (2, 4, 5, 0)]
    assert spellings("pass", vocabulary, None) == [(6,)]
    assert spellings("fold", vocabulary, 0) == []
