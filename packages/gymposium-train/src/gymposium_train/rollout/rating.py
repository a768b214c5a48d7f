"""Ratings of groups: the rewards to learn from, lowered for long replies on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gymposium.errors import UnratedGroup
from gymposium.rewards.protocol import CheckedReward, Reward, split_reward
from gymposium_train.config import TrainConfig
from gymposium_train.rollout.protocol import Group
from gymposium_train.rollout.samples import TokenTrajectory, is_cut_off


def rate_groups(
    reward: CheckedReward, groups: Sequence[Group], config: TrainConfig
) -> list[list[Reward] | UnratedGroup]:
    """Return each group's rewards, or why it could not be rated. `overlong.mode = "penalize"` lowers the rewards of
    long replies."""
    rated = reward.rate([group.trajectories for group in groups])
    if config.overlong.mode != "penalize":
        return rated
    return [
        rewards
        if isinstance(rewards, UnratedGroup)
        else [penalize_length(*pair, config) for pair in zip(rewards, group.trajectories, strict=True)]
        for group, rewards in zip(groups, rated, strict=True)
    ]


def penalize_length(reward: Reward, trajectory: TokenTrajectory, config: TrainConfig) -> Reward:
    """Return a reward minus the penalty of each turn's reply: 0 up to `overlong.buffer` tokens before the limit, then
    rising linearly (Yu et al., 2025, equation 13). The part `overlong` is minus the sum."""
    settings, limit = config.overlong, config.prompting.room
    buffer = settings.buffer_tokens(limit)

    def excess(tokens: int) -> float:
        return min(1.0, max(0.0, (tokens - (limit - buffer)) / buffer))

    penalties = [
        settings.penalty * (1.0 if is_cut_off(turn) else excess(len(turn.trace.completion.ids)))
        for turn in trajectory.turns
    ]
    total = math.fsum(penalties)
    turns = tuple(earned - lost for earned, lost in zip(split_reward(reward, trajectory), penalties, strict=True))
    return replace(reward, total=reward.total - total, turns=turns, parts={**reward.parts, "overlong": -total})


def are_tied(reward: CheckedReward, groups: Sequence[Group], config: TrainConfig) -> bool:
    """Return whether there are groups and each has equal rewards, so that a credit with `drops_ties` drops them
    all."""
    rated = rate_groups(reward, groups, config)
    return bool(rated) and not any(
        isinstance(rewards, UnratedGroup)
        or len({math.fsum(split_reward(*pair)) for pair in zip(rewards, group.trajectories, strict=True)}) > 1
        for group, rewards in zip(groups, rated, strict=True)
    )
