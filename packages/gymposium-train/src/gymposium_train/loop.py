"""The loop, on one page.

    play      groups of matches through the driver            who plays
    rate      what each trajectory of a group gets            what is wanted
    annotate  what the critic and the reference say of it     what was expected
    credit    rewards to an advantage for each turn           who deserves what
    update    the objective on the turns' tokens              who learns
    publish   the new weights to whoever plays

Everything that a step draws follows from the seed and the step, so a step can be done again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import Unrated
from gymposium.rewards.protocol import CheckedReward
from gymposium.streams import stream
from gymposium_agents.forward import Tokens
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import entropy_weight, kl_weight, learning_rate
from gymposium_train.credit.protocol import Credit
from gymposium_train.reporting import credit_metrics, reward_metrics
from gymposium_train.rollout.protocol import Group, RolloutSource, StepRollout
from gymposium_train.samples import Sample, rows_to_learn
from gymposium_train.samples_file import Rated
from gymposium_train.trainee import Trainee

Pair = tuple[Tokens, Tokens]


@dataclass(slots=True)
class Training:
    """Reinforcement learning under way: everything that a step reads or changes."""

    config: TrainConfig
    trainee: Trainee
    source: RolloutSource
    credit: Credit
    reward: CheckedReward
    keep: Callable[[int, Sequence[Rated]], object] = lambda step, groups: None
    """Called with each step, counted from 1, and its rated groups."""
    auxiliary_sft: Callable[[int], Iterator[list[Pair]]] | None = None
    """The batches whose imitation is added to a step's optimizer steps; None without `sft`."""
    unrated: Counter[str] = field(default_factory=Counter)
    """Counts of the groups that could not be rated, by reason."""
    source_state: dict[str, Any] = field(default_factory=dict)
    """The state of the source after the rollout that was learned from last."""

    def play(self, step: int) -> StepRollout[Any]:
        """The rollout of one step, by the policy as it is published now. Only this method uses the source: another
        thread may be learning from an earlier rollout."""
        started = time.perf_counter()
        rollout = self.source.roll_out(step)
        seconds = time.perf_counter() - started
        turns = [turn for group in rollout.groups for one in group.trajectories for turn in one.turns]
        sampled = sum(len(turn.trace.completion.ids) for turn in turns)
        rollout.metrics |= {"perf/seconds_rollout": seconds, "perf/tokens_per_second_rollout": sampled / seconds}
        return rollout

    def learn(self, step: int, rollout: StepRollout[Any]) -> dict[str, Any]:
        """One step of learning from a rollout. Returns its metrics; where there is nothing to learn from, there is no
        update."""
        config, learner = self.config, self.trainee.learner
        started, begun = time.perf_counter(), time.process_time()
        if config.kl is not None and config.kl.refresh and step and step % config.kl.refresh == 0:
            learner.refresh_reference()
        self.source_state = rollout.state
        rated = self._rate(rollout.groups)
        groups = [samples for _, samples in rated]
        self._annotate(groups)
        k1 = self._k1(step)
        episodes = [[sample.episode(critic=self._critic, k1=k1) for sample in group] for group in groups]
        credited = self.credit(episodes)
        taught: list[Sample] = []
        for group, deserved in zip(groups, credited, strict=True):
            for sample, credit in zip(group, deserved or (), strict=deserved is not None):
                sample.take(credit)
                taught.append(sample)
        longest = config.optimizer.max_row or self.trainee.player.engine.context
        rows, too_long = rows_to_learn(taught, config.objective.aggregate, longest)
        self.keep(step + 1, [Rated(*one, deserved is None) for one, deserved in zip(rated, credited, strict=True)])
        metrics: dict[str, Any] = {
            **rollout.metrics,
            **reward_metrics(groups),
            **credit_metrics(taught, critic=self._critic),
            "rollout/groups": len(rollout.groups),
            "rollout/groups_tied": sum(one is None for one in credited),
            "rollout/groups_unrated": len(rollout.groups) - len(rated),
            "train/rows": len(rows),
            "train/rows_too_long": too_long,
            "train/learning_rate": learning_rate(config, step),
            "train/entropy_weight": entropy_weight(config, step),
            "train/kl_weight": kl_weight(config, step),
        }
        if rows:
            metrics |= learner.update(
                rows,
                learning_rate=learning_rate(config, step),
                entropy_weight=entropy_weight(config, step),
                kl_weight=kl_weight(config, step),
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
        """What a checkpoint must hold beside the learner's tensors, as plain data."""
        return {"rollouts": self.source_state, "credit": self.credit.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.source.restore(state["rollouts"])
        self.source_state = state["rollouts"]
        self.credit.restore(state["credit"])

    @property
    def _critic(self) -> bool:
        return self.trainee.learner.critic is not None

    def _k1(self, step: int) -> float:
        """The penalty for each nat away from the reference, if it is subtracted from the rewards."""
        kl = self.config.kl
        return kl_weight(self.config, step) if kl is not None and kl.estimator == "k1" else 0.0

    def _rate(self, groups: Sequence[Group]) -> list[tuple[Group, list[Sample]]]:
        """The groups that could be rated, each with its samples."""
        rated = self.reward.rate([group.trajectories for group in groups])
        self.unrated.update(one.reason for one in rated if isinstance(one, Unrated))
        return [
            (group, [Sample.of(group.role, *rated) for rated in zip(group.trajectories, rewards, strict=True)])
            for group, rewards in zip(groups, rated, strict=True)
            if not isinstance(rewards, Unrated)
        ]

    def _annotate(self, groups: Sequence[Sequence[Sample]]) -> None:
        """Let the learner say what it knows of every turn, before credit is given."""
        samples = [sample for group in groups for sample in group]
        learner = self.trainee.learner
        learner.annotate([row for sample in samples for row in sample.rows])
        if self._critic:
            cut = {n: prompt for n, sample in enumerate(samples) if (prompt := sample.unanswered)}
            for n, value in zip(cut, learner.values_after([*cut.values()]), strict=True):
                samples[n].after = value

    def _auxiliary_sft(self, step: int) -> Iterator[tuple[float, list[Pair]]] | None:
        sft = self.config.sft
        if self.auxiliary_sft is None or sft is None:
            return None
        return ((sft.weight, pairs) for pairs in self.auxiliary_sft(step))
