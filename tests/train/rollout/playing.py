"""Rollouts of given sets of matches, for tests that plan them on their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from gymposium.match import MatchResult, Schedule
from gymposium_train.rollout import LocalExecutor, MatchGroup, MatchRollouts, PlannedGroup


def play_sets(
    planned: Sequence[PlannedGroup],
    record: Callable[[MatchResult], object] = lambda played: None,
    schedule: Schedule = "rounds",
) -> tuple[list[MatchGroup], dict[str, float]]:
    """Return the groups and the metrics of these sets. No planner notes them."""
    planner: Any = SimpleNamespace(plan=lambda step, playing: planned, note=lambda groups: {})
    return MatchRollouts(planner, LocalExecutor(schedule), record).roll_out(0)
