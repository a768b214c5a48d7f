"""The exact policy gradient against finite differences of the exact mean return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.trainers.planting import loop_trainer

from gymposium.games.registry import load_game
from gymposium_testing.trainers import TrainerTask, find_spellings
from gymposium_testing.trainers.traversal import GameTree, _compute_values


@pytest.mark.parametrize("opponent", ["self", "random"])
def test_exact_gradient_matches_finite_differences(opponent: Any, tmp_path: Path) -> None:
    """In self-play each seat's return counts for its own decisions alone, so the weights of one seat are moved."""
    task = TrainerTask(load_game("kuhn_poker"), opponent)
    with loop_trainer(tmp_path) as trainer:
        model: Any = trainer.begin(task, 0)
    tree = GameTree(task, model)
    seats = {prompt: seat for (seat, _), prompt in tree.prompts.items()}
    gradients = [np.zeros(model._weights.numel()) for _ in (0, 1)]
    for (prompt, reply), factor in tree.compute_coefficients(tree.compute_probabilities(model)).items():
        if prompt in seats:
            gradients[seats[prompt]] += factor * model.gradient(prompt, reply)
    for seat in (0, 1):
        place = int(np.abs(gradients[seat]).argmax())
        slope = (worth(tree, model, seat, place, 1e-5) - worth(tree, model, seat, place, -1e-5)) / 2e-5
        assert slope == pytest.approx(gradients[seat][place], rel=1e-4)
        assert abs(slope) > 1e-4


def worth(tree: GameTree, model: Any, seat: int, place: int, shift: float) -> float:
    """The mean return of a seat with one weight shifted. Against random play it has each seat in half of the
    matches."""
    with torch.no_grad():
        model._weights.view(-1)[place] += shift
        odds = tree.compute_probabilities(model)
        model._weights.view(-1)[place] -= shift
    trees = tree._trees
    return (
        _compute_values(trees[0], odds)[0][seat] if len(trees) == 1 else _compute_values(trees[seat], odds)[0][seat] / 2
    )


def test_spellings_cover_all_tokenizations() -> None:
    vocabulary = ["", "bet", "b", "et", "e", "t", "pass"]
    assert find_spellings("bet", vocabulary, 0) == [(1, 0), (2, 3, 0), (2, 4, 5, 0)]
    assert find_spellings("pass", vocabulary, None) == [(6,)]
    assert find_spellings("fold", vocabulary, 0) == []
