"""Rollouts of matches: play the planned matches and group the learner's trajectories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.match import MatchJob, MatchResult, Schedule, play
from gymposium.records import record_matches
from gymposium.records.trajectories import Trajectory
from gymposium.util.visible import quantity
from gymposium_train.config.source import MatchSettings
from gymposium_train.config.stages import SELF
from gymposium_train.rollout.plan import MatchGroup, MatchPlanner, PlannedGroup
from gymposium_train.rollout.protocol import Executor, SourceStart, StepRollout
from gymposium_train.rollout.results import Results, name_metrics


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An `Executor` that plays all matches at once in this process."""

    schedule: Schedule = "rounds"

    def play(self, jobs: Sequence[MatchJob]) -> Iterator[MatchResult]:
        return play(jobs, at_once=max(1, len(jobs)), schedule=self.schedule)


@dataclass(slots=True)
class MatchRollouts:
    """A `RolloutSource` of matches: a planner chooses them, and an executor plays them."""

    planner: MatchPlanner
    executor: Executor = LocalExecutor()
    record: Callable[[MatchResult], object] = lambda played: None
    """Called with each finished match."""
    most_broken: float = 1.0
    """Maximum share of a step's matches that may break off."""

    @property
    def runs_ahead(self) -> bool:
        return True

    def roll_out(self, step: int, go_on: Callable[[], object]) -> StepRollout[MatchGroup]:
        """Play the matches of a step. Raises `GymposiumError` if more than `most_broken` of them break off."""
        planned = self.planner.plan(step)

        def note_played(played: MatchResult) -> None:
            self.record(played)
            go_on()

        rollout = roll_out(planned, note_played, self.executor)
        matches, broken = sum(len(one.jobs) for one in planned), sum(rollout.broken.values())
        if broken > self.most_broken * matches:
            raise GymposiumError(
                f"{broken} of {quantity(matches, 'match')} of step {step + 1} broke off, but "
                f"rollout.most_broken={self.most_broken:g}. Most frequent cause: {next(iter(rollout.broken))}"
            )
        metrics = rollout.metrics | self.planner.note(rollout.groups)
        return replace(rollout, metrics=metrics, state=self.planner.state())

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return self.planner.state()

    def restore(self, state: dict[str, Any]) -> None:
        self.planner.restore(state)


def make_match_source(settings: MatchSettings, start: SourceStart) -> MatchRollouts:
    """Make the `matches` source."""
    config = start.config
    planner = MatchPlanner(config, start.games, start.players, start.pace)
    executor = LocalExecutor(config.engine.schedule)
    return MatchRollouts(planner, executor, start.record, config.rollout.most_broken)


def roll_out(
    planned: Sequence[PlannedGroup], record: Callable[[MatchResult], object], executor: Executor
) -> StepRollout[MatchGroup]:
    """Play the planned matches and group the learner's trajectories. `record` is called with each match as it ends.
    Matches with a failed tool are left out. Groups with fewer than two remaining matches are dropped.

    Raises `EngineError` if a game's engine fails, and whatever a player raises. Such an error is a bug or a broken
    server: leaving out the match would hide it and bias learning. `record` is called with the unfinished match."""
    jobs = [job for matches in planned for job in matches.jobs]
    finished = {played.job.id: played for played in record_matches(executor.play(jobs), record)}
    groups: list[MatchGroup] = []
    total, dropped, silent = Results(), 0, 0
    broken: Counter[str] = Counter()
    opponents: dict[str, Results] = {}
    games: dict[str, Results] = {}
    for matches in planned:
        game, opponent = matches.game, matches.opponent
        kept: dict[int, list[Trajectory]] = {seat: [] for seat in matches.seats}
        by_name = opponents.setdefault(opponent, Results()), games.setdefault(game.name, Results())
        with_outcome = by_name[:1] if opponent == SELF else (total, *by_name)
        for job in matches.jobs:
            played = finished[job.id]
            if played.ending.broke_off:
                broken[played.ending.detail] += 1
                continue
            trajectories = [Trajectory.from_match(played, seat) for seat in matches.seats]
            for results in (total, *by_name):
                results.note_match(trajectories)
            for trajectory in trajectories:
                if played.ending.seat not in (None, trajectory.seat):
                    dropped += 1
                elif not trajectory.turns:
                    silent += 1
                else:
                    kept[trajectory.seat].append(trajectory)
                    for results in with_outcome:
                        results.note_result(trajectory)
        breaks = any(finished[job.id].ending.broke_off for job in matches.jobs)
        least = 2 if breaks and len(matches.jobs) > 1 else 1
        groups += [
            MatchGroup(game, seat, opponent, tuple(of_seat), matches.version, matches.stage)
            for seat, of_seat in kept.items()
            if len(of_seat) >= least
        ]
    counts = {"rollout/dropped": dropped, "rollout/silent": silent, "rollout/broken": broken.total()}
    return StepRollout(
        groups,
        dropped=dropped,
        silent=silent,
        broken=dict(broken.most_common()),
        readings=dict(total.readings),
        metrics=name_metrics(total, opponents, games) | counts,
    )
