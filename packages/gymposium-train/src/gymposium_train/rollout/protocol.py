"""Protocols of rollouts: where the trajectories of a step come from, and what plays matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from gymposium.driver import MatchJob, MatchResult


class Group(Protocol):
    """Trajectories that one baseline may range over."""

    @property
    def trajectories(self) -> Sequence[Any]:
        """Each a `gymposium_train.samples.TokenTrajectory`, and whatever the reward of the run reads of it."""
        ...

    @property
    def role(self) -> str:
        """The part that was played, such as `kuhn_poker seat 0`. A credit may keep a mean for each."""
        ...

    def facts(self) -> dict[str, Any]:
        """What `samples.jsonl` says of the group, as plain data."""
        ...

    def trajectory_facts(self, number: int) -> dict[str, Any]:
        """What `samples.jsonl` says of one trajectory beside its numbers, as plain data."""
        ...


G = TypeVar("G", bound=Group)


@dataclass(slots=True)
class StepRollout(Generic[G]):
    """The trajectories of one step, and metrics of them."""

    groups: list[G] = field(default_factory=list)
    """The groups in an order that follows from the seed; those without a trajectory are left out."""
    dropped: int = 0
    """Trajectories left out because another seat forfeited, so their result says nothing about them."""
    silent: int = 0
    """Trajectories left out because the seat has no turn: the match ended before its first one."""
    readings: dict[str, int] = field(default_factory=dict)
    """Counts of the learner's replies by how they were read."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics by flat names: `rollout/win`, `rollout/win/OPPONENT`, `rollout/GAME/win`. Results are those of the kept
    trajectories. Results of self-play appear only under its own name: a win of one seat is a loss of another."""
    state: dict[str, Any] = field(default_factory=dict)
    """`RolloutSource.state()` after this rollout."""


class RolloutSource(Protocol):
    """A source of trajectories to learn from. `MatchRollouts` plays matches."""

    def roll_out(self, step: int) -> StepRollout[Any]:
        """The trajectories of one step, by the policy as it is published now. Steps are asked for in order, in one
        thread, which may run ahead of the learner's."""
        ...

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold to continue with the same rollouts, as plain data."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave. Raises `GymposiumError` if the settings have changed since."""
        ...


class Executor(Protocol):
    """Plays matches. `LocalExecutor` plays them in this process."""

    def play(self, jobs: Sequence[MatchJob]) -> Iterator[MatchResult]:
        """The results of the matches, in the order in which they end. Raises `EngineError` if a game's engine fails,
        and what a player raises."""
        ...
