"""Rollouts of matches: play the planned matches and group the learner's trajectories."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from gymposium_train.rollout.rating import are_tied
from gymposium_train.rollout.results import Results, name_metrics


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An `Executor` that plays all matches at once in this process."""

    schedule: Schedule = "rounds"

    def play(self, jobs: Iterable[MatchJob]) -> Iterator[MatchResult]:
        return play(jobs, at_once=sys.maxsize, schedule=self.schedule)


class JobFeed:
    """An iterator over jobs that may grow while the jobs are played."""

    def __init__(self, jobs: Iterable[MatchJob]) -> None:
        self._waiting = deque(jobs)

    def add(self, jobs: Iterable[MatchJob]) -> None:
        """Append jobs. They begin in the next round, or after the next reply."""
        self._waiting.extend(jobs)

    def __iter__(self) -> Iterator[MatchJob]:
        return self

    def __next__(self) -> MatchJob:
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()


@dataclass(slots=True)
class MatchRollouts:
    """A `RolloutSource` of matches: a planner chooses them, and an executor plays them."""

    planner: MatchPlanner
    executor: Executor = LocalExecutor()
    record: Callable[[MatchResult], object] = lambda played: None
    """Called with each finished match."""
    most_broken: float = 1.0
    """Maximum share of a step's matches that may break off."""
    most_replaced: int = 0
    """Maximum number of tied sets per step that are replaced."""
    are_tied: Callable[[Sequence[MatchGroup]], bool] = lambda groups: False
    """Returns whether the groups of a set teach nothing."""

    @property
    def runs_ahead(self) -> bool:
        return True

    def roll_out(self, step: int, go_on: Callable[[], object]) -> StepRollout[MatchGroup]:
        """Play the matches of a step. Raises `GymposiumError` if more than `most_broken` of them break off."""
        planned = self.planner.plan(step)
        replaced = 0

        def note_played(played: MatchResult) -> None:
            self.record(played)
            go_on()

        def replace_tied(one: PlannedGroup, groups: Sequence[MatchGroup]) -> PlannedGroup | None:
            nonlocal replaced
            if replaced >= self.most_replaced or not self.are_tied(groups):
                return None
            replaced += 1
            return self.planner.replace(step, one, len(planned))

        rollout = roll_out(planned, note_played, self.executor, replace_tied)
        matches, broken = int(rollout.metrics["rollout/matches"]), sum(rollout.broken.values())
        if broken > self.most_broken * (matches + broken):
            raise GymposiumError(
                f"{broken} of {quantity(matches + broken, 'match')} of step {step + 1} broke off, more than "
                f"rollout.most_broken={self.most_broken:g} allows. Raise it, or fix the most frequent cause: "
                f"{next(iter(rollout.broken))}"
            )
        metrics = rollout.metrics | self.planner.note([*rollout.groups, *rollout.replaced])
        if self.most_replaced:
            metrics["rollout/groups_replaced"] = replaced
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
    return MatchRollouts(
        MatchPlanner(config, start.games, start.players, start.pace),
        LocalExecutor(config.engine.schedule),
        start.record,
        config.rollout.most_broken,
        config.rollout.replace_tied,
        lambda groups: are_tied(start.reward, groups, config),
    )


def roll_out(
    planned: Sequence[PlannedGroup],
    record: Callable[[MatchResult], object],
    executor: Executor,
    replace_tied: Callable[[PlannedGroup, Sequence[MatchGroup]], PlannedGroup | None] = lambda one, groups: None,
) -> StepRollout[MatchGroup]:
    """Play the planned matches and group the learner's trajectories. `record` is called with each match as it ends.
    `replace_tied` is called with each set that ended, and its groups. It returns the set to play in its place, or None.
    Matches with a failed tool are left out. Groups with fewer than two remaining matches are dropped.

    Raises `EngineError` if a game's engine fails, and whatever a player raises. Such an error is a bug or a broken
    server: leaving out the match would hide it and bias learning. `record` is called with the unfinished match."""
    sets, replaced = [*planned], set[int]()
    finished: dict[str, MatchResult] = {}
    number_of = {job.id: number for number, one in enumerate(sets) for job in one.jobs}
    jobs = JobFeed(job for one in sets for job in one.jobs)
    for played in record_matches(executor.play(jobs), record):
        finished[played.job.id] = played
        number = number_of[played.job.id]
        if any(job.id not in finished for job in sets[number].jobs):
            continue
        if (other := replace_tied(sets[number], list_groups(sets[number], finished))) is not None:
            replaced.add(number)
            number_of |= {job.id: len(sets) for job in other.jobs}
            sets.append(other)
            jobs.add(other.jobs)
    return gather(sets, finished, replaced)


def list_groups(matches: PlannedGroup, finished: Mapping[str, MatchResult]) -> list[MatchGroup]:
    """Return the groups of a set whose matches are finished."""
    played = [finished[job.id] for job in matches.jobs]
    whole = [one for one in played if not one.ending.broke_off]
    least = 2 if len(whole) < len(played) > 1 else 1
    groups = []
    for seat in matches.seats:
        trajectories = [Trajectory.from_match(one, seat) for one in whole if one.ending.seat in (None, seat)]
        kept = tuple(trajectory for trajectory in trajectories if trajectory.turns)
        if len(kept) >= least:
            groups.append(MatchGroup(matches.game, seat, matches.opponent, kept, matches.version, matches.stage))
    return groups


def gather(
    sets: Sequence[PlannedGroup], finished: Mapping[str, MatchResult], replaced: Collection[int] = ()
) -> StepRollout[MatchGroup]:
    """Return the rollout of a step's finished sets. Those with indices in `replaced` count only in the metrics."""
    groups: list[MatchGroup] = []
    left_out: list[MatchGroup] = []
    total, dropped, silent = Results(), 0, 0
    broken: Counter[str] = Counter()
    opponents: dict[str, Results] = {}
    games: dict[str, Results] = {}
    for number, matches in enumerate(sets):
        opponent = matches.opponent
        by_name = opponents.setdefault(opponent, Results()), games.setdefault(matches.game.name, Results())
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
                    for results in with_outcome:
                        results.note_result(trajectory)
        (left_out if number in replaced else groups).extend(list_groups(matches, finished))
    counts = {"rollout/dropped": dropped, "rollout/silent": silent, "rollout/broken": broken.total()}
    return StepRollout(
        groups,
        replaced=left_out,
        dropped=dropped,
        silent=silent,
        broken=dict(broken.most_common()),
        readings=dict(total.readings),
        metrics=name_metrics(total, opponents, games) | counts,
    )
