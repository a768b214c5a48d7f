"""Rollouts of given sets of matches, for tests that plan them on their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from gymposium.match import MatchResult, Schedule
from gymposium.rewards.protocol import Reward
from gymposium_train.rollout import LocalExecutor, MatchGroup, MatchRollouts, PlannedGroup


def play_sets(
    planned: Sequence[PlannedGroup],
    record: Callable[[MatchResult], object] = lambda played: None,
    schedule: Schedule = "rounds",
) -> tuple[list[MatchGroup], dict[str, float]]:
    """Return the groups and the metrics of these sets. No planner notes them."""
    planner: Any = SimpleNamespace(plan=lambda step, playing: planned, note=lambda groups: {})
    return MatchRollouts(planner, LocalExecutor(schedule), record).roll_out(0)


def tie_groups(groups: Sequence[MatchGroup], tied: Callable[[MatchGroup], bool]) -> list[MatchGroup]:
    """Rate groups: those that are `tied` get equal rewards, and the others cannot be rated."""
    return [
        replace(one, rewards=(Reward(0.0),) * len(one.trajectories)) if tied(one) else replace(one, unrated="other")
        for one in groups
    ]
