"""Rollouts of matches: the planned matches are played, and the learner's trajectories are collected in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.driver import MatchJob, MatchResult, Schedule, play
from gymposium.records import recorded
from gymposium.trajectories import Trajectory
from gymposium_train.config.stages import SELF
from gymposium_train.rollout.plan import MatchGroup, MatchPlanner, Planned
from gymposium_train.rollout.protocol import Executor, StepRollout
from gymposium_train.rollout.results import Results, named


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """The `Executor` of this process: the driver plays all matches at once."""

    schedule: Schedule = "rounds"

    def play(self, jobs: Sequence[MatchJob]) -> Iterator[MatchResult]:
        return play(jobs, at_once=max(1, len(jobs)), schedule=self.schedule)


@dataclass(slots=True)
class MatchRollouts:
    """The `RolloutSource` of matches: a planner says who meets whom, and an executor plays it."""

    planner: MatchPlanner
    executor: Executor = LocalExecutor()
    record: Callable[[MatchResult], object] = lambda played: None
    """Called with each finished match."""

    def roll_out(self, step: int) -> StepRollout[MatchGroup]:
        rollout = roll_out(self.planner.plan(step), self.record, self.executor)
        rollout.metrics |= self.planner.note(rollout.groups)
        rollout.state = self.planner.state()
        return rollout

    def state(self) -> dict[str, Any]:
        return self.planner.state()

    def restore(self, state: dict[str, Any]) -> None:
        self.planner.restore(state)


def roll_out(
    planned: Sequence[Planned], record: Callable[[MatchResult], object], executor: Executor
) -> StepRollout[MatchGroup]:
    """Play the planned matches and group the learner's trajectories. `record` is called with each match as it ends.

    Raises `EngineError` if a game's engine fails, and what a player raises: such a match is a bug or a broken server,
    and to leave it out would hide that and bias what is learned. `record` is called with what there is of the match."""
    jobs = [job for one in planned for job in one.jobs]
    finished = {played.job.id: played for played in recorded(executor.play(jobs), record)}
    rollout, total = StepRollout[MatchGroup](), Results()
    opponents: dict[str, Results] = {}
    games: dict[str, Results] = {}
    for one in planned:
        groups = [MatchGroup(one.game, seat, one.opponent, [], one.version, one.stage) for seat in one.seats]
        by_name = opponents.setdefault(one.opponent, Results()), games.setdefault(one.game.name, Results())
        told = by_name[:1] if one.opponent == SELF else (total, *by_name)
        for job in one.jobs:
            played = finished[job.id]
            mine = [Trajectory.of(played, seat) for seat in one.seats]
            for results in (total, *by_name):
                results.note_match(mine)
            for group, trajectory in zip(groups, mine, strict=True):
                if played.ending.seat not in (None, trajectory.seat):
                    rollout.dropped += 1
                elif not trajectory.turns:
                    rollout.silent += 1
                else:
                    group.trajectories.append(trajectory)
                    for results in told:
                        results.note_result(trajectory)
        rollout.groups += [group for group in groups if group.trajectories]
    rollout.readings = dict(total.readings)
    rollout.metrics = named(total, opponents, games)
    rollout.metrics |= {"rollout/dropped": rollout.dropped, "rollout/silent": rollout.silent}
    return rollout
