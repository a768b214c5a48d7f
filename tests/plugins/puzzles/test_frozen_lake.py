"""Frozen lake moves as Gymnasium's environment does, and its solver is optimal."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium_puzzles.planning.frozen_lake import (
    CLASSIC,
    GOAL,
    HOLE,
    MOVES,
    compute_values,
    list_slips,
    make_lake,
    step,
)


def load_gymnasium(size: int) -> Any:
    return gymnasium.make("FrozenLake-v1", map_name=f"{size}x{size}", is_slippery=True).unwrapped


@pytest.mark.parametrize("size", [4, 8])
def test_transitions_equal_gymnasiums(size: int) -> None:
    other = load_gymnasium(size)
    assert "".join(square.decode() for square in other.desc.ravel()) == CLASSIC[size]
    for at, actions in other.P.items():
        if CLASSIC[size][at] in (HOLE, GOAL):
            continue
        for action, outcomes in actions.items():
            theirs = sorted(after for _, after, _, _ in outcomes)
            assert (
                sorted(step(CLASSIC[size], at, slip) for slip in list_slips(MOVES[action], is_slippery=True)) == theirs
            )


@pytest.mark.parametrize("size", [4, 8])
def test_values_solve_gymnasiums_lake(size: int) -> None:
    turns, other = 100, load_gymnasium(size)
    values = np.zeros(size * size)
    for _ in range(turns):  # value iteration over Gymnasium's own tables
        values = np.array(
            [
                max(
                    sum(p * (paid + values[after] * (not over)) for p, after, paid, over in other.P[at][a])
                    for a in range(4)
                )
                for at in range(size * size)
            ]
        )
    assert compute_values(CLASSIC[size], turns, True)[-1][0] == pytest.approx(values[0])


def test_random_lakes_have_a_path() -> None:
    lakes = {make_lake(number, 5) for number in range(200)}
    assert len(lakes) > 150
    assert all(compute_values(lake, 25, False)[-1][0] == 1.0 for lake in lakes)
    assert 0.7 < np.mean([square not in HOLE for lake in lakes for square in lake]) < 0.9


def test_classic_layout_has_two_sizes() -> None:
    with pytest.raises(BadParameter, match="layout=classic has the sizes 4 and 8"):
        load_game("frozen_lake", size=5, layout="classic")
