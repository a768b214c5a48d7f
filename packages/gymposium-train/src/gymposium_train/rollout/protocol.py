"""Rollout protocols: the source of a step's trajectories (chosen in the config), their groups, the executor of matches,
and the source of players."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gymposium.games.protocol import Game
from gymposium.match import MatchJob, MatchResult
from gymposium.players.protocol import Player
from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import host
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import RunProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Trajectories that share a baseline. A source defines a subclass for what else it knows about them."""

    role: str
    """The role played, such as `kuhn_poker seat 0`. A credit may keep a mean per role."""
    trajectories: Sequence[Any]
    """The trajectories. Each is a `gymposium_train.rollout.samples.TokenTrajectory` with the further attributes that
    the reward reads."""
    rewards: tuple[Reward, ...] = ()
    """The rewards of the trajectories. Empty until the group is rated, and if it could not be."""
    unrated: str = ""
    """Why the group could not be rated."""

    def facts(self) -> dict[str, Any]:
        """Return the fields of the group in `samples.jsonl`, as plain data."""
        return {}

    def trajectory_facts(self, number: int) -> dict[str, Any]:
        """Return the fields of one trajectory in `samples.jsonl`, except rewards and credit, as plain data."""
        return {}


class RolloutSource(Protocol):
    """A source of trajectories to learn from. `MatchRollouts` gets them from matches."""

    def roll_out(self, step: int) -> tuple[Sequence[Group], dict[str, float]]:
        """Return the nonempty groups of one step, in an order determined by the seed, and their metrics. Called for the
        steps in order, after the weights that learned from all earlier steps were published.

        A source may begin earlier, with weights at most `engine.staleness` steps older. The metric `rollout/staleness`
        is then the largest lag of the weights that began to play these trajectories, in steps. A source may rate its
        groups (`rate_groups`). The run rates the others."""
        ...

    def published(self, step: int) -> None:
        """Note that the weights for this step are published: those that learned from all earlier steps."""
        ...

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Note that the run has learned from the rollout of a step, published the new weights, and saved any checkpoint
        that is due. `metrics` are those of the step."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint, as plain data. A source that restores it gives the same rollouts."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Raises `GymposiumError` if the settings have changed since."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStart:
    """The run a source is made for. A source's factory is called with its settings and this object."""

    config: TrainConfig
    games: Sequence[Game]
    """The games of the run. Empty if the trajectories come from elsewhere."""
    players: PlayerSource
    """The source of the policy's players."""
    reward: CheckedReward
    """The reward to learn from."""
    pace: RunProgress
    """The progress of the run, used by schedules."""
    directory: Path
    """The directory of the run. A source may keep files there."""
    resources: ExitStack
    """Resources closed at the end of the run, such as a server of the source."""
    record: Callable[[MatchResult], object]
    """Called to record a finished match. A source without matches does not call it."""
    stop_here: Callable[[], object]
    """Raises `KeyboardInterrupt` if the user has asked to stop. A source that waits for outside agents calls it while
    waiting."""


def make_source(start: SourceStart) -> RolloutSource:
    """Make the source named in a run's config. Raises `UnknownName` if its plugin is not loaded."""
    settings, sources = start.config.source, host().sources
    if settings.kind not in sources:
        raise make_unknown_name("source", settings.kind, sources, host().plugins)
    source: RolloutSource = host().implementation(sources[settings.kind])(settings, start)
    return source


class Executor(Protocol):
    """An executor of matches. `LocalExecutor` plays them in this process."""

    def play(self, jobs: Iterable[MatchJob]) -> Iterator[MatchResult]:
        """Play the matches and yield each result when its match ends. Take the jobs one at a time, because more may
        arrive after a match. Raises `EngineError` if a game's engine fails,
        and whatever a player raises."""
        ...


class PlayerSource(Protocol):
    """A source of players for the policy's newest published version and its kept versions."""

    def learner(self) -> Player:
        """Return a player of the newest published version. It samples its replies."""
        ...

    def recent(self, policy: Policy) -> Player:
        """Return a player of a published version at most `engine.staleness` publishes old. It samples its replies.
        Raises `GymposiumError` for an older version."""
        ...

    def past(self, policy: Policy) -> Player:
        """Return a player of a kept version. It samples its replies like the learner."""
        ...

    def keep(self) -> Policy:
        """Keep the newest published version, so that `past` can make its players until it is released, even in a
        resumed run. Does nothing if it is already kept."""
        ...

    def let_go(self, policy: Policy) -> None:
        """Release a kept version. No more players of it can be made. Its files stay, because checkpoints may name
        it."""
        ...
