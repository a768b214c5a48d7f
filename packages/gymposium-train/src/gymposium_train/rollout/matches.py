"""Rollouts of matches: play the planned matches and group the learner's trajectories."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.match import MatchJob, MatchResult, Schedule, play
from gymposium.records.trajectories import Trajectory
from gymposium.util.visible import quantity
from gymposium_train.config.source import MatchSettings
from gymposium_train.rollout.in_flight import MatchesInFlight
from gymposium_train.rollout.plan import MatchGroup, MatchPlanner, PlannedGroup
from gymposium_train.rollout.protocol import Executor, SourceStart
from gymposium_train.rollout.rating import are_tied, rate_groups
from gymposium_train.rollout.results import StepResults, has_result
from gymposium_train.rollout.stored import StoredMatch, StoredStep


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An `Executor` that plays all matches at once in this process."""

    schedule: Schedule = "rounds"

    def play(self, jobs: Iterable[MatchJob]) -> Iterator[MatchResult]:
        return play(jobs, at_once=sys.maxsize, schedule=self.schedule)


@dataclass(slots=True)
class MatchRollouts:
    """A `RolloutSource` of matches: a planner chooses them, and an executor plays them.

    Weights are *of step s* once they have learned from all steps before s. The matches of step s begin as soon as the
    published weights are of step s - `staleness`, even if matches of earlier steps are still played. With a staleness
    of 0, they are played while `roll_out` waits. Otherwise, a thread plays them, also during updates."""

    planner: MatchPlanner
    executor: Executor = LocalExecutor()
    record: Callable[[MatchResult], object] = lambda played: None
    """Called with each finished match."""
    most_broken: float = 1.0
    """Maximum share of a step's matches that may break off."""
    most_replaced: int = 0
    """Maximum number of tied sets per step that are replaced."""
    rate: Callable[[Sequence[MatchGroup]], list[MatchGroup]] = list
    """Rates the groups of a set, if tied sets are replaced."""
    staleness: int = 0
    """Maximum lag of the weights that play a step's matches, in steps."""
    steps: float = math.inf
    """Number of steps of the run."""
    _open: dict[int, StepMatches] = field(default_factory=dict, init=False)
    """The steps in flight, in order."""
    _next: int = field(default=0, init=False)
    """The first step that is not planned yet."""
    _saved: dict[int, StoredStep] = field(default_factory=dict, init=False)
    """The steps in flight of a checkpoint, until there are weights to play them."""
    _in_flight: MatchesInFlight = field(init=False)

    def __post_init__(self) -> None:
        if self.staleness < 0:
            raise BadOption(f"Rollouts cannot be {self.staleness} steps behind. Use 0 (on-policy) or more.")
        self._in_flight = MatchesInFlight(self.executor, self.record, beside=self.staleness > 0)

    def roll_out(self, step: int) -> tuple[list[MatchGroup], dict[str, float]]:
        """Wait for the matches of a step. Matches with a failed tool are left out, and groups with fewer than two
        remaining matches are dropped. Tied groups that others replaced are only in the metrics.

        Raises `GymposiumError` if more than `most_broken` of the matches break off, `EngineError` if a game's engine
        fails, and whatever a player raises. Such an error is a bug or a broken server: leaving out the match would hide
        it and bias learning. `record` is called with the unfinished match."""
        self._next = max(self._next, step)
        self._begin_steps(step)
        matches = self._open[step]
        while not matches.is_complete:
            self._note(self._in_flight.get())
        broken, total = matches.results.broken, len(matches.finished)
        if broken.total() > self.most_broken * total:
            raise GymposiumError(
                f"{broken.total()} of {quantity(total, 'match')} of step {step + 1} broke off, more than "
                f"rollout.most_broken={self.most_broken:g} allows. Raise it, or fix the most frequent cause: "
                f"{broken.most_common(1)[0][0]}"
            )
        del self._open[step]
        groups, replaced = matches.split_groups()
        metrics = matches.results.metrics() | self.planner.note([*groups, *replaced])
        metrics["perf/seconds_rollout"] = time.perf_counter() - matches.began
        metrics["rollout/staleness"] = step - matches.weights
        if self.most_replaced:
            metrics["rollout/groups_replaced"] = len(matches.replaced)
        return groups, metrics

    def published(self, step: int) -> None:
        if self.staleness:
            self._note_finished()
            self._begin_steps(step)

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        pass

    def close(self) -> None:
        """Abandon the matches in flight."""
        self._in_flight.close()

    def state(self) -> dict[str, Any]:
        self._note_finished()
        if not self.staleness:  # a step that was interrupted is played again, in the same batches
            return {"planner": self.planner.state(), "next": min(self._open, default=self._next), "open": {}}
        steps = self._saved | {step: matches.to_stored() for step, matches in self._open.items()}
        data = {str(step): stored.to_data() for step, stored in steps.items()}
        return {"planner": self.planner.state(), "next": self._next, "open": data}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Finished matches are kept, and unfinished ones begin again, with the newest
        weights. Raises `ValueError` for damaged steps in flight."""
        self.planner.restore(state["planner"])
        self._next = state["next"]
        self._saved = {int(step): StoredStep.from_data(data) for step, data in state["open"].items()}
        self.planner.check_sets(one for stored in self._saved.values() for one in stored.sets)

    def _begin_steps(self, weights: int) -> None:
        """Begin the matches of all steps that may be played by the weights of a step."""
        saved, self._saved = self._saved, {}
        for step, stored in saved.items():
            self._open[step] = matches = StepMatches.restored(stored, self.planner.restore_sets(step, stored.sets))
            self._in_flight.add(matches.unfinished)
            self._end_sets(step, matches)
        while self._next <= weights + self.staleness and self._next < max(self.steps, weights + 1):
            playing = {one.version for matches in self._open.values() for one in matches.sets if one.version}
            matches = StepMatches(self.planner.plan(self._next, playing), weights)
            self._open[self._next] = matches
            self._in_flight.add(matches.unfinished)
            self._next += 1

    def _note_finished(self) -> None:
        for played in self._in_flight.list_finished():
            self._note(played)

    def _note(self, played: MatchResult) -> None:
        """Note a finished match."""
        step, matches = next(item for item in self._open.items() if played.job.id in item[1])
        matches.finished[played.job.id] = played
        self._end_sets(step, matches)

    def _end_sets(self, step: int, matches: StepMatches) -> None:
        """End the sets whose matches are finished, and replace tied ones. Sets end in order: with a cap, sets of short
        matches would otherwise be replaced more often."""
        while (index := matches.end_set()) is not None:
            if len(matches.replaced) < self.most_replaced:
                matches.groups[index] = self.rate(matches.groups[index])
                if are_tied(matches.groups[index]):
                    other = self.planner.replace(step, matches.sets[index], matches.planned)
                    self._in_flight.add(matches.replace(index, other))


def make_match_source(settings: MatchSettings, start: SourceStart) -> MatchRollouts:
    """Make the `matches` source."""
    config = start.config
    source = MatchRollouts(
        MatchPlanner(config, start.games, start.players, start.pace),
        LocalExecutor(config.engine.schedule),
        start.record,
        config.rollout.most_broken,
        config.rollout.replace_tied,
        lambda groups: rate_groups(start.reward, groups, config),
        config.engine.staleness,
        math.inf if config.steps is None else config.steps,
    )
    start.resources.callback(source.close)
    return source


class StepMatches:
    """The sets of one step, while their matches are played."""

    def __init__(self, planned: Iterable[PlannedGroup], weights: int = 0) -> None:
        """`weights` is the step of the weights that play."""
        self.sets = [*planned]
        """The planned sets, and then those that replace tied ones."""
        self.planned = len(self.sets)
        """The number of planned sets."""
        self.weights = weights
        self.began = time.perf_counter()
        self.replaced: set[int] = set()
        """Indices of the tied sets that others replace."""
        self.finished: dict[str, MatchResult] = {}
        self.groups: list[list[MatchGroup]] = []
        """The groups of each ended set, in order."""
        self.results = StepResults()
        """The results of the ended sets."""
        self._matches = {job.id for one in self.sets for job in one.jobs}

    def __contains__(self, match: str) -> bool:
        return match in self._matches

    @property
    def is_complete(self) -> bool:
        return len(self.groups) == len(self.sets)

    @property
    def unfinished(self) -> list[MatchJob]:
        return [job for one in self.sets for job in one.jobs if job.id not in self.finished]

    def end_set(self) -> int | None:
        """Group the trajectories of the next set if all its matches are finished. Returns its index, or None if the set
        has not ended."""
        index = len(self.groups)
        if self.is_complete or any(job.id not in self.finished for job in self.sets[index].jobs):
            return None
        planned = self.sets[index]
        played = [self.finished[job.id] for job in planned.jobs]
        whole = [one for one in played if not one.ending.broke_off]
        trajectories = [[Trajectory.from_match(one, seat) for seat in planned.seats] for one in whole]
        self.results.note(planned, trajectories, [one.ending.detail for one in played if one.ending.broke_off])
        self.groups.append(make_groups(planned, trajectories))
        return index

    def replace(self, index: int, other: PlannedGroup) -> Sequence[MatchJob]:
        """Let another set take the place of a finished one. Returns its jobs."""
        self.replaced.add(index)
        self._matches.update(job.id for job in other.jobs)
        self.sets.append(other)
        return other.jobs

    def split_groups(self) -> tuple[list[MatchGroup], list[MatchGroup]]:
        """Return the groups to learn from, and the tied groups that others replace."""
        kept: list[MatchGroup] = []
        replaced: list[MatchGroup] = []
        for index, groups in enumerate(self.groups):
            (replaced if index in self.replaced else kept).extend(groups)
        return kept, replaced

    def to_stored(self) -> StoredStep:
        """Return the step for a checkpoint."""
        return StoredStep(
            self.weights,
            self.planned,
            len(self.groups),
            tuple(sorted(self.replaced)),
            tuple(one.to_stored() for one in self.sets),
            {match: StoredMatch.from_match(played) for match, played in self.finished.items()},
        )

    @classmethod
    def restored(cls, stored: StoredStep, sets: Iterable[PlannedGroup]) -> StepMatches:
        """Return the step of a checkpoint. `sets` are its sets, planned again."""
        step = cls(sets, stored.weights)
        step.planned, step.replaced = stored.planned, {*stored.replaced}
        jobs = {job.id: job for one in step.sets for job in one.jobs}
        step.finished = {match: one.to_match(jobs[match]) for match, one in stored.finished.items()}
        for _ in range(stored.ended):
            step.end_set()
        return step


def make_groups(planned: PlannedGroup, matches: Sequence[Sequence[Trajectory]]) -> list[MatchGroup]:
    """Group the trajectories of a set by seat. `matches` has the trajectories of the learner's seats in each match that
    did not break off. Trajectories without a result or without turns are left out."""
    least = 2 if len(matches) < len(planned.jobs) > 1 else 1
    groups = []
    for seat, trajectories in zip(planned.seats, zip(*matches)):
        kept = tuple(one for one in trajectories if has_result(one) and one.turns)
        if len(kept) >= least:
            groups.append(
                MatchGroup(
                    role=f"{planned.game.name} seat {seat}",
                    trajectories=kept,
                    game=planned.game,
                    seat=seat,
                    opponent=planned.opponent,
                    version=planned.version,
                    stage=planned.stage,
                )
            )
    return groups
