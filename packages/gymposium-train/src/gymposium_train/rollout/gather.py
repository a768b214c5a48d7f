"""From a plan to what is learned from: the one driver plays the matches, and the learner's trajectories are gathered
in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.driver import MatchResult, Schedule, play
from gymposium.records import recorded
from gymposium.trajectories import Trajectory
from gymposium_train.config.stages import SELF
from gymposium_train.rollout.plan import Group, Planned
from gymposium_train.rollout.results import Results, named


@dataclass(slots=True)
class Rollout:
    """What one step of playing gave."""

    groups: list[Group] = field(default_factory=list)
    """In the order of the plan, in self-play one for each seat; without those that nothing is left of."""
    dropped: int = 0
    """Trajectories left out because another seat forfeited: what they got says nothing about them."""
    silent: int = 0
    """Trajectories left out because the seat has no turn in the match: it ended before the first one."""
    readings: dict[str, int] = field(default_factory=dict)
    """The learner's replies by how they were read."""
    metrics: dict[str, float] = field(default_factory=dict)
    """How the matches went, by flat names: `rollout/win`, `rollout/win/OPPONENT`, `rollout/GAME/win`. Results are of
    the trajectories that are kept, and those of self-play stand under its own name alone: a win is somebody's loss."""
    planner: dict[str, Any] = field(default_factory=dict)
    """`MatchPlanner.state()` after its matches were noted."""


def roll_out(
    planned: Sequence[Planned], each: Callable[[MatchResult], object], *, schedule: Schedule = "rounds"
) -> Rollout:
    """Play all that is planned, at once. `each` is called with every match as it ends.

    Raises `EngineError` where a game's engine fails, and whatever a player raises: such a match is a bug or a broken
    server, and to leave it out would hide that and tilt what is learned away from where it happens. `each` is told of
    what there was of the match."""
    jobs = [job for one in planned for job in one.jobs]
    finished = {
        played.job.id: played for played in recorded(play(jobs, at_once=max(1, len(jobs)), schedule=schedule), each)
    }
    rollout, total = Rollout(), Results()
    opponents: dict[str, Results] = {}
    games: dict[str, Results] = {}
    for one in planned:
        groups = [Group(one.game, seat, one.opponent, [], one.version, one.stage) for seat in one.seats]
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
