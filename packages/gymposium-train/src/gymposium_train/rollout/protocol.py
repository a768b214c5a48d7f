"""Protocols of rollouts: the source of a step's trajectories, which a config chooses, their groups, the executor of
matches, and the source of their players."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from gymposium.games.protocol import Game
from gymposium.match import MatchJob, MatchResult
from gymposium.players.protocol import Player
from gymposium.plugins.first_party import unknown_name
from gymposium.plugins.host import host
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import Pace


class Group(Protocol):
    """Trajectories that share a baseline."""

    @property
    def trajectories(self) -> Sequence[Any]:
        """The trajectories, each a `gymposium_train.rollout.samples.TokenTrajectory` with what the reward reads."""
        ...

    @property
    def role(self) -> str:
        """The role that was played, such as `kuhn_poker seat 0`. A credit may keep a mean for each role."""
        ...

    def facts(self) -> dict[str, Any]:
        """The fields of the group in `samples.jsonl`, as plain data."""
        ...

    def trajectory_facts(self, number: int) -> dict[str, Any]:
        """The fields of one trajectory in `samples.jsonl`, except rewards and credit, as plain data."""
        ...


G = TypeVar("G", bound=Group)


@dataclass(slots=True)
class StepRollout(Generic[G]):
    """The trajectories of one step with their metrics."""

    groups: list[G] = field(default_factory=list)
    """The groups in an order that follows from the seed, without empty groups."""
    dropped: int = 0
    """Number of trajectories left out because another seat forfeited, so that the result is not their merit."""
    silent: int = 0
    """Number of trajectories left out because the match ended before the seat's first turn."""
    broken: dict[str, int] = field(default_factory=dict)
    """Number of matches left out because a tool failed, which has no result, by reason."""
    readings: dict[str, int] = field(default_factory=dict)
    """Number of the learner's replies by reading."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics by flat names: `rollout/win`, `rollout/win/OPPONENT`, `rollout/GAME/win`. Outcomes are those of the kept
    trajectories. Outcomes of self-play appear only under its own name: a win of one seat is a loss of another."""
    state: dict[str, Any] = field(default_factory=dict)
    """The state of the source after this rollout (`RolloutSource.state`)."""


class RolloutSource(Protocol):
    """A source of trajectories to learn from. `MatchRollouts` gets them from matches."""

    @property
    def runs_ahead(self) -> bool:
        """Whether rollouts may run in a thread of their own, ahead of the learner's, by up to `engine.staleness` steps.
        A source that bounds the age of its trajectories itself does not."""
        ...

    def roll_out(self, step: int, go_on: Callable[[], object]) -> StepRollout[Any]:
        """The trajectories of one step, by the policy that is published now. It is called for the steps in order, in
        one thread. It must call `go_on` repeatedly, which raises if the rollout is not needed any more."""
        ...

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Called when the run has learned from the rollout of a step and published the new weights, with the metrics of
        the step."""
        ...

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint, as plain data. A source that restores it gives the same rollouts."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Raises `GymposiumError` if the settings have changed since."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStart:
    """The run that a source is made for. The implementation of a source is called with its settings and this."""

    config: TrainConfig
    games: Sequence[Game]
    """The games of the run; none if it learns from something else."""
    players: PlayerSource
    """Makes players of the policy."""
    pace: Pace
    """The progress of the run, on which schedules depend."""
    directory: Path
    """The directory of the run, in which a source may keep files."""
    resources: ExitStack
    """What is closed at the end of the run, such as a server of the source."""
    record: Callable[[MatchResult], object]
    """Records a finished match. A source without matches does not call it."""
    stop_here: Callable[[], object]
    """Raises `KeyboardInterrupt` if the user has asked to stop. A source that waits for others calls it meanwhile."""


def make_source(start: SourceStart) -> RolloutSource:
    """The source of a run's config. Raises `UnknownName` if its plugin is not loaded."""
    settings, sources = start.config.source, host().sources
    if settings.kind not in sources:
        raise unknown_name("source", settings.kind, sources, host().plugins)
    source: RolloutSource = host().implementation(sources[settings.kind])(settings, start)
    return source


class Executor(Protocol):
    """Plays matches. `LocalExecutor` plays them in this process."""

    def play(self, jobs: Sequence[MatchJob]) -> Iterator[MatchResult]:
        """Play the matches and yield each result when the match ends. Raises `EngineError` if a game's engine fails,
        and whatever a player raises."""
        ...


class PlayerSource(Protocol):
    """Makes players of the policy that learns: of its newest published version, and of kept versions."""

    def learner(self) -> Player:
        """A player of the newest published version, which samples its replies."""
        ...

    def recent(self, policy: Policy) -> Player:
        """A player of a published version that is at most `engine.staleness` publishes old, which samples its replies.
        Raises `GymposiumError` for an older one."""
        ...

    def past(self, policy: Policy) -> Player:
        """A player of a kept version, which samples its replies like the learner."""
        ...

    def keep(self) -> Policy:
        """Keep the newest published version, so that `past` can make players of it until it is let go, also in a
        resumed run. Nothing is done if it is kept already."""
        ...

    def let_go(self, policy: Policy) -> None:
        """Release a kept version, of which no more players are made. Its files stay, because checkpoints may name
        it."""
        ...
