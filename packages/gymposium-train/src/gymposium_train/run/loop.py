"""The training loop. A step has six parts:

    play      groups of matches through the driver
    rate      a reward for each trajectory of a group
    annotate  the critic's values and the reference's log-probabilities
    credit    rewards to an advantage for each turn
    update    the objective on the turns' tokens
    publish   the new weights to the engine

All random numbers of a step follow from the seed and the step, so steps are reproducible.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import UnratedGroup
from gymposium.rewards.protocol import CheckedReward
from gymposium.util.streams import stream
from gymposium_train.backends.trainee import Trainee
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import Pace, entropy_weight, kl_weight, learning_rate
from gymposium_train.credit.protocol import Credit
from gymposium_train.learner.protocol import AuxiliarySft, Demonstration
from gymposium_train.rollout.protocol import Group, RolloutSource, StepRollout
from gymposium_train.rollout.samples import Sample, rows_to_learn
from gymposium_train.run.reporting import credit_metrics, reward_metrics
from gymposium_train.run.samples_file import RatedGroup


@dataclass(slots=True)
class Training:
    """Reinforcement learning in progress: everything a step reads or changes."""

    config: TrainConfig
    trainee: Trainee
    source: RolloutSource
    credit: Credit
    reward: CheckedReward
    pace: Pace
    """The progress of the run, used by schedules."""
    keep: Callable[[int, Sequence[RatedGroup]], object] = lambda step, groups: None
    """Called with each step, counted from 1, and its rated groups."""
    auxiliary_sft: Callable[[int], Iterator[list[Demonstration]]] | None = None
    """Returns the batches to imitate in the optimizer steps of a step. None without `sft`."""
    unrated: Counter[str] = field(default_factory=Counter)
    """Number of groups that could not be rated, by reason."""
    source_state: dict[str, Any] = field(init=False)
    """The source's state after the latest rollout the run learned from."""

    def __post_init__(self) -> None:
        self.source_state = self.source.state()

    def play(self, step: int, go_on: Callable[[], object] = lambda: None) -> StepRollout[Any]:
        """Play the rollout of one step with the currently published policy. Only this method rolls out: another thread
        may be learning from an earlier rollout. `go_on` is called repeatedly and may raise to break off the rollout."""
        started = time.perf_counter()
        rollout = self.source.roll_out(step, go_on)
        seconds = time.perf_counter() - started
        trajectories = [trajectory for group in rollout.groups for trajectory in group.trajectories]
        sampled = sum(len(turn.trace.completion.ids) for trajectory in trajectories for turn in trajectory.turns)
        rollout.metrics |= {"perf/seconds_rollout": seconds, "perf/tokens_per_second_rollout": sampled / seconds}
        return rollout

    def learn(self, step: int, rollout: StepRollout[Any], rate_scale: float = 1.0) -> dict[str, Any]:
        """Learn from a rollout, and return the metrics of the step. Without rows to learn from, there is no update.
        `rate_scale` scales the learning rate."""
        config, learner, progress = self.config, self.trainee.learner, self.pace(step)
        rate = learning_rate(config, progress, step) * rate_scale
        started, begun = time.perf_counter(), time.process_time()
        if config.kl.refresh and step and step % config.kl.refresh == 0:
            learner.refresh_reference()
        self.source_state = rollout.state
        rated = self._rate(rollout.groups)
        groups = [samples for _, samples in rated]
        self._annotate(groups)
        # a penalty for each nat from the reference, if it is subtracted from the rewards
        k1 = kl_weight(config, progress) if config.kl.estimator == "k1" else 0.0
        episodes = [[sample.episode(critic=self._critic, k1=k1) for sample in group] for group in groups]
        credited = self.credit(episodes)
        taught: list[Sample] = []
        for group, of_group in zip(groups, credited, strict=True):
            for sample, credit in zip(group, of_group or (), strict=of_group is not None):
                sample.take(credit)
                taught.append(sample)
        longest = config.optimizer.max_row or self.trainee.player.engine.context
        rows, too_long = rows_to_learn(taught, config.objective.aggregate, longest)
        self.keep(
            step + 1, [RatedGroup(*pair, of_group is None) for pair, of_group in zip(rated, credited, strict=True)]
        )
        metrics: dict[str, Any] = {
            **rollout.metrics,
            **reward_metrics(groups),
            **credit_metrics(taught, critic=self._critic),
            "rollout/groups": len(rollout.groups),
            "rollout/groups_tied": sum(of_group is None for of_group in credited),
            "rollout/groups_unrated": len(rollout.groups) - len(rated),
            "train/progress": progress,
            "train/rows": len(rows),
            "train/rows_too_long": too_long,
            "train/learning_rate": rate,
            "train/entropy_weight": entropy_weight(config, progress),
            "train/kl_weight": kl_weight(config, progress),
        }
        if rows:
            metrics |= learner.update(
                rows,
                learning_rate=rate,
                entropy_weight=entropy_weight(config, progress),
                kl_weight=kl_weight(config, progress),
                seed=stream(config.seed, "update", step).getrandbits(48),
                policy_learns=self.credit.critic is None or step >= self.credit.critic.warmup,
                auxiliary_sft=self._auxiliary_sft(step),
            )
        seconds = time.perf_counter() - started
        metrics |= {"perf/seconds_update": seconds, "perf/cpu_update": time.process_time() - begun}
        if rows:
            metrics["perf/tokens_per_second_update"] = sum(len(row.ids) for row in rows) / seconds
        return metrics | {"train/policy_version": learner.policy_version}

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint as plain data, without the learner's tensors."""
        return {"rollouts": self.source_state, "credit": self.credit.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.source.restore(state["rollouts"])
        self.source_state = state["rollouts"]
        self.credit.restore(state["credit"])

    @property
    def _critic(self) -> bool:
        return self.trainee.learner.critic is not None

    def _rate(self, groups: Sequence[Group]) -> list[tuple[Group, list[Sample]]]:
        """Return the groups that could be rated, each with its samples."""
        rated = self.reward.rate([group.trajectories for group in groups])
        self.unrated.update(rewards.reason for rewards in rated if isinstance(rewards, UnratedGroup))
        return [
            (
                group,
                [Sample.from_trajectory(group.role, *pair) for pair in zip(group.trajectories, rewards, strict=True)],
            )
            for group, rewards in zip(groups, rated, strict=True)
            if not isinstance(rewards, UnratedGroup)
        ]

    def _annotate(self, groups: Sequence[Sequence[Sample]]) -> None:
        """Set the learner's values and log-probabilities for every turn."""
        samples = [sample for group in groups for sample in group]
        learner = self.trainee.learner
        learner.annotate([row for sample in samples for row in sample.rows])
        if self._critic:
            cut = {n: prompt for n, sample in enumerate(samples) if (prompt := sample.unanswered)}
            for n, value in zip(cut, learner.values_after([*cut.values()]), strict=True):
                samples[n].after = value

    def _auxiliary_sft(self, step: int) -> AuxiliarySft | None:
        sft = self.config.sft
        if self.auxiliary_sft is None or sft is None:
            return None
        return ((sft.weight, demonstrations) for demonstrations in self.auxiliary_sft(step))
