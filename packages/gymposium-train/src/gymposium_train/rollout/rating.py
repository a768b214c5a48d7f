"""Ratings of groups: the rewards to learn from, lowered for long replies on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from gymposium.errors import UnratedGroup
from gymposium.rewards.protocol import CheckedReward, Reward, split_reward
from gymposium_train.config import TrainConfig
from gymposium_train.rollout.protocol import Group
from gymposium_train.rollout.samples import TokenTrajectory, is_cut_off

G = TypeVar("G", bound=Group)


def rate_groups(reward: CheckedReward, groups: Sequence[G], config: TrainConfig) -> list[G]:
    """Return the groups with their rewards, or with the reason why they could not be rated. Groups that were rated
    before stay as they are. `overlong.mode = "penalize"` lowers the rewards of long replies."""

    def is_rated(group: G) -> bool:
        return bool(group.rewards or group.unrated)

    def rate(group: G, rewards: list[Reward] | UnratedGroup) -> G:
        if isinstance(rewards, UnratedGroup):
            return replace(group, unrated=rewards.reason)
        if config.overlong.mode == "penalize":
            rewards = [penalize_length(*pair, config) for pair in zip(rewards, group.trajectories, strict=True)]
        return replace(group, rewards=tuple(rewards))

    found = iter(reward.rate([group.trajectories for group in groups if not is_rated(group)]))
    return [group if is_rated(group) else rate(group, next(found)) for group in groups]


def penalize_length(reward: Reward, trajectory: TokenTrajectory, config: TrainConfig) -> Reward:
    """Return a reward minus the penalty of each turn's reply: 0 up to `overlong.buffer` tokens before the limit, then
    rising linearly (Yu et al., 2025, equation 13). The part `overlong` is minus the sum."""
    settings, limit = config.overlong, config.prompting.reply_limit
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


def are_tied(groups: Sequence[Group]) -> bool:
    """Return whether there are rated groups and each has equal rewards, so that a credit with `drops_ties` drops them
    all."""
    totals = [{math.fsum(split_reward(*pair)) for pair in zip(group.rewards, group.trajectories)} for group in groups]
    return bool(totals) and all(len(different) == 1 for different in totals)
