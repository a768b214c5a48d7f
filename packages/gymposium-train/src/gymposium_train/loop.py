"""The loop: play, credit, learn, publish; on one page.

    for each step:
        rollout   = groups of matches through the driver          who plays
        reward    = what each trajectory of a group gets          what is wanted
        advantage = reward relative to the group                  who deserves what
        update    = clipped policy gradient on the turns' tokens  who learns

The engine and the learner share one model in memory, so publishing is telling the engine the new policy version. A
canary then checks that it plays what was learned.
Left out of GRPO on purpose: no KL term (the clip and a short run keep the policy near its start), and no
sequence-mean (losses are means over tokens, as in DAPO, so long and short replies weigh by their tokens).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.driver import Played
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.rewards.protocol import Reward, RewardFunction
from gymposium.streams import stream
from gymposium.trajectories import Trajectory
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.forward import Tokens
from gymposium_agents.lora.canary import check_published, tolerance_for
from gymposium_agents.player import LanguageModelPlayer
from gymposium_agents.tokens import Policy, TurnTokens
from gymposium_train.config import Grpo, TrainConfig
from gymposium_train.credit import group_advantages
from gymposium_train.learner import Learner
from gymposium_train.rollout import group_jobs, roll_out
from gymposium_train.rows import Row


@dataclass(slots=True)
class Trainee:
    """The model that learns, as the three that share it see it."""

    player: LanguageModelPlayer
    """Samples, for rollouts."""
    greedy: LanguageModelPlayer
    """Plays its best, to be measured."""
    engine: TransformersEngine
    learner: Learner
    canary: tuple[Tokens, ...]
    """Prompts that the engine answers after each publish, to see that it plays the policy that learns."""

    def publish(self) -> float:
        """Let the engine play what the learner has learned, and see that it does: returns the largest difference
        between their log-probabilities, in nats.

        Raises `EngineDisagrees` where they are further apart than rounding explains."""
        policy = Policy("learner", self.learner.policy_version)
        self.engine.weights_changed(policy)
        tolerance = tolerance_for(str(self.learner.model.dtype).removeprefix("torch."))
        return check_published(self.engine, policy, self.canary, self.learner.score, tolerance=tolerance)


def train_step(
    step: int,
    config: TrainConfig,
    game: Game,
    trainee: Trainee,
    opponent: Player,
    reward: RewardFunction,
    each: Callable[[Played], object],
) -> dict[str, Any]:
    """One step of the loop. Returns its metrics."""
    settings, started = config.grpo, time.process_time()
    jobs = group_jobs(
        game,
        trainee.player,
        opponent,
        step=step,
        groups=settings.groups,
        group_size=settings.group_size_at(step),
        seed=config.seed,
        on_illegal=FailurePolicy.parse(config.on_illegal),
    )
    rollout = roll_out(jobs, each)
    played_at = time.process_time()
    paid = [list(reward(group)) for group in rollout.groups]
    rows, groups_kept = rows_of(rollout.groups, paid, settings)
    learning_rate, entropy = settings.learning_rate_at(step), settings.entropy_at(step)
    update: dict[str, float] = {}
    if rows:
        seed = stream(config.seed, "update", step).getrandbits(48)
        update = trainee.learner.reinforce(
            rows, settings, learning_rate=learning_rate, entropy_weight=entropy, seed=seed
        )
        update["canary"] = trainee.publish()
    rewards = [one for group in paid for one in group]
    wins = sum(trajectory.result == "win" for group in rollout.groups for trajectory in group)
    return {
        "stage": "grpo",
        "step": step + 1,
        "reward": sum(one.total for one in rewards) / len(rewards) if rewards else None,
        "reward_parts": mean_parts(rewards),
        "win": wins / max(1, len(rewards)),
        "groups_kept": groups_kept,
        "dropped": rollout.dropped,
        "turns": sum(rollout.readings.values()),
        "readings": rollout.readings,
        "learning_rate": learning_rate,
        "entropy_weight": entropy,
        "policy_version": trainee.learner.policy_version,
        "cpu_rollout": played_at - started,
        "cpu_update": time.process_time() - played_at,
        **update,
    }


def rows_of(
    groups: Sequence[Sequence[Trajectory]], paid: Sequence[Sequence[Reward]], settings: Grpo
) -> tuple[list[Row], int]:
    """The turns of every trajectory whose group can teach something, and how many groups can. `paid` holds each
    group's rewards, in its order."""
    rows: list[Row] = []
    kept = 0
    for group, rewards in zip(groups, paid, strict=True):
        advantages = group_advantages([reward.total for reward in rewards], normalise=settings.normalise)
        if advantages is None:
            continue
        kept += 1
        for trajectory, advantage in zip(group, advantages, strict=True):
            for turn in trajectory.turns:
                tokens: TurnTokens = turn.trace
                rows.append(Row(tokens.prompt, tokens.completion.ids, tokens.completion.logprobs, advantage))
    return rows, kept


def mean_parts(rewards: Sequence[Reward]) -> dict[str, float]:
    """The mean of each part, over the rewards that have it."""
    values: dict[str, list[float]] = {}
    for reward in rewards:
        for name, value in reward.parts.items():
            values.setdefault(name, []).append(value)
    return {name: sum(found) / len(found) for name, found in values.items()}
