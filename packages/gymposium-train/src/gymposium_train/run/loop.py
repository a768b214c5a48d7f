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
from itertools import islice
from typing import Any

from gymposium.rewards.protocol import CheckedReward
from gymposium.util.streams import stream
from gymposium_train.backends.trainee import Trainee
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import (
    RunProgress,
    compute_distillation_weight,
    compute_entropy_weight,
    compute_kl_weight,
    compute_learning_rate,
)
from gymposium_train.credit.protocol import Credit, Episode, is_tied
from gymposium_train.learner.protocol import AuxiliarySft, Demonstration
from gymposium_train.learner.rows import Row
from gymposium_train.rollout.protocol import Group, RolloutSource
from gymposium_train.rollout.rating import rate_groups
from gymposium_train.rollout.samples import (
    annotate_episode,
    is_cut_off,
    make_episodes,
    next_prompt,
    rows_to_learn,
    weigh_turns,
)
from gymposium_train.run.information import compute_information_metrics
from gymposium_train.run.reporting import compute_credit_metrics, compute_reward_metrics


@dataclass(slots=True)
class Training:
    """Reinforcement learning in progress: everything a step reads or changes."""

    config: TrainConfig
    trainee: Trainee
    source: RolloutSource
    credit: Credit
    reward: CheckedReward
    pace: RunProgress
    """The progress of the run, used by schedules."""
    keep: Callable[[int, Sequence[Sequence[Episode]]], object] = lambda step, groups: None
    """Called with each step, counted from 1, and the episodes of its rated groups."""
    auxiliary_sft: Callable[[int], Iterator[list[Demonstration]]] | None = None
    """Returns the batches to imitate in a step's optimizer steps. None without `sft`."""
    teach_tokens: Callable[[Sequence[Row], float], tuple[list[Row], float]] | None = None
    """Scores rows with a teacher of tokens (`gymposium_train.run.teachers.make_token_teacher`)."""
    unrated: Counter[str] = field(default_factory=Counter)
    """Number of groups that could not be rated, by reason."""
    distillation_weight: float = field(init=False)
    """The weight of distillation in the latest step. It never rises, even if an extension makes the run longer."""

    def __post_init__(self) -> None:
        self.distillation_weight = self.config.distillation_weight

    def play(self, step: int) -> tuple[Sequence[Group], dict[str, Any]]:
        """Wait for the groups of one step. Returns them and their metrics. The weights for the step must be
        published."""
        started = time.perf_counter()
        groups, metrics = self.source.roll_out(step)
        seconds = metrics.get("perf/seconds_rollout", time.perf_counter() - started)
        trajectories = [trajectory for group in groups for trajectory in group.trajectories]
        sampled = sum(len(turn.trace.completion.ids) for trajectory in trajectories for turn in trajectory.turns)
        speed = {"perf/seconds_rollout": seconds, "perf/tokens_per_second_rollout": sampled / seconds}
        return groups, {"rollout/staleness": 0} | metrics | speed

    def learn(self, step: int, played: Sequence[Group], rate_scale: float = 1.0) -> dict[str, Any]:
        """Learn from groups, and return the metrics of rewards, credit and the update. Without rows to learn from,
        there is no update. `rate_scale` scales the learning rate."""
        config, learner, progress = self.config, self.trainee.learner, self.pace(step)
        rate = compute_learning_rate(config, progress, step) * rate_scale
        started, begun = time.perf_counter(), time.process_time()
        if config.kl.refresh and step and step % config.kl.refresh == 0:
            learner.refresh_reference(config.kl.refresh_share)
        self.distillation_weight = min(self.distillation_weight, compute_distillation_weight(config, progress))
        # a penalty for each nat from the reference, if it is subtracted from the rewards
        k1 = compute_kl_weight(config, progress) if config.kl.estimator == "k1" else 0.0
        longest = config.optimizer.max_row or self.trainee.player.engine.context
        credited = self.credit(self._annotate_groups(self._rate_groups(played), k1))
        masks = config.overlong.mode == "mask"
        groups = weigh_turns(credited, config.objective.aggregate, longest, mask_cut_off=masks)
        rows = rows_to_learn(groups)
        self.keep(step + 1, groups)
        learned = [episode for group in groups if not is_tied(group) for episode in group]
        metrics: dict[str, Any] = {
            **compute_reward_metrics(groups),
            **compute_credit_metrics(learned, critic=self._critic),
            "rollout/groups": len(played),
            "rollout/groups_tied": sum(map(is_tied, groups)),
            "rollout/groups_unrated": len(played) - len(groups),
            "train/progress": progress,
            "train/rows": len(rows),
            "train/rows_too_long": sum(len(row.ids) > longest for episode in learned for row in episode.rows),
            "train/learning_rate": rate,
            "train/entropy_weight": compute_entropy_weight(config, progress),
            "train/kl_weight": compute_kl_weight(config, progress),
        }
        if config.has_teacher:
            metrics["train/distillation_weight"] = self.distillation_weight
        if masks:
            metrics["train/turns_masked"] = sum(is_cut_off(turn) for one in learned for turn in one.trajectory.turns)
        if config.samples.prompts and config.samples.keeps(step + 1, config.steps):
            metrics |= compute_information_metrics(
                learner,
                groups,
                prompts=config.samples.prompts,
                longest=longest,
                temperature=config.prompting.temperature,
                rng=stream(config.seed, "information", step),
            )
        if rows and self.teach_tokens is not None:
            rows, metrics["train/teacher_kl"] = self.teach_tokens(rows, self.distillation_weight)
        if rows:
            metrics |= learner.update(
                rows,
                learning_rate=rate,
                entropy_weight=compute_entropy_weight(config, progress),
                kl_weight=compute_kl_weight(config, progress),
                distillation_weight=self.distillation_weight,
                seed=stream(config.seed, "update", step).getrandbits(48),
                policy_learns=self.credit.critic is None or step >= self.credit.critic.warmup,
                auxiliary_sft=self._make_auxiliary_sft(step),
            )
        seconds = time.perf_counter() - started
        metrics |= {"perf/seconds_update": seconds, "perf/cpu_update": time.process_time() - begun}
        if rows:
            metrics["perf/tokens_per_second_update"] = sum(len(row.ids) for row in rows) / seconds
        return metrics | {"train/policy_version": learner.policy_version}

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint as plain data, without the learner's tensors."""
        return {
            "rollouts": self.source.state(),
            "credit": self.credit.state(),
            "distillation_weight": self.distillation_weight,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.source.restore(state["rollouts"])
        self.credit.restore(state["credit"])
        self.distillation_weight = float(state["distillation_weight"])

    @property
    def _critic(self) -> bool:
        return self.trainee.learner.critic is not None

    def _rate_groups(self, groups: Sequence[Group]) -> list[list[Episode]]:
        """Rate the groups, and return the episodes of those that could be rated."""
        rated = rate_groups(self.reward, groups, self.config)
        self.unrated.update(group.unrated for group in rated if not group.rewards)
        return [make_episodes(group) for group in rated if group.rewards]

    def _annotate_groups(self, groups: Sequence[Sequence[Episode]], k1: float) -> list[list[Episode]]:
        """Return the groups with the learner's values and log-probabilities for every turn."""
        learner, critic = self.trainee.learner, self._critic
        episodes = [episode for group in groups for episode in group]
        rows = iter(learner.annotate([row for episode in episodes for row in episode.rows]))
        prompts = [prompt for episode in episodes if (prompt := next_prompt(episode))]
        values = iter(learner.values_after(prompts) if critic else ())

        def annotate(episode: Episode) -> Episode:
            after = next(values) if critic and next_prompt(episode) else 0.0
            return annotate_episode(episode, islice(rows, len(episode.rows)), critic=critic, after=after, k1=k1)

        return [[*map(annotate, group)] for group in groups]

    def _make_auxiliary_sft(self, step: int) -> AuxiliarySft | None:
        sft = self.config.sft
        if self.auxiliary_sft is None or sft is None:
            return None
        return ((sft.weight, demonstrations) for demonstrations in self.auxiliary_sft(step))
