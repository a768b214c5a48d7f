"""Rewards other than the game's own, by wrappers that one can see.

An environment's rewards add up to the return that the game pays, and nothing is added to it unless one of these is
put around it. They go around any environment of gymposium; those that read `played` need ours at the bottom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from gymposium.envs.gym import TextGameEnv
from gymposium.errors import BadOption
from gymposium.match_score import match_score

_Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class ScoreReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The match's score in [0, 1] at its end, and nothing before: `gymposium.match_score` says what it means. It is
    the same scale in every game: 1 for a win, 0.5 for a draw, 0 for a loss where there are two seats. Penalties of
    `on_illegal` come off it, as they do with the reward `score` in training: else failed replies would be free."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        _ours(self)

    def step(self, action: Any) -> _Step:
        observation, _, terminated, truncated, info = self.env.step(action)
        env = _ours(self)
        played = env.played if terminated else None
        if played is None:
            return observation, 0.0, terminated, truncated, info
        score = match_score(env.game, played.utilities, env.seat, played.ending.seat)
        return observation, score - played.penalties.get(env.seat, 0.0), terminated, truncated, info


class StepPenalty(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Takes `cost` from the reward of every step, so that a quicker end is worth more. That changes which play is
    best."""

    def __init__(self, env: gymnasium.Env[Any, Any], cost: float) -> None:
        if not 0 < cost < math.inf:
            raise BadOption(f"cost={cost!r}: give a number greater than 0.")
        RecordConstructorArgs.__init__(self, cost=cost)
        super().__init__(env)
        self._cost = cost

    def step(self, action: Any) -> _Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) - self._cost, terminated, truncated, info


class PotentialShaping(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds γ·Φ(after) - Φ(before) to the reward of every step, where `potential`, Φ, is a function of an observation
    and its info. After the end Φ counts as 0, so that the best play stays what it was (Ng, Harada and Russell 1999,
    "Policy invariance under reward transformations"), provided that the learner discounts by the same `discount`, γ."""

    def __init__(
        self, env: gymnasium.Env[Any, Any], potential: Callable[[Any, dict[str, Any]], float], discount: float = 1.0
    ) -> None:
        if not 0 < discount <= 1:
            raise BadOption(f"discount={discount!r}: give a number above 0, up to 1.")
        RecordConstructorArgs.__init__(self, potential=potential, discount=discount)
        super().__init__(env)
        self._potential, self._discount = potential, discount
        self._before = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._before = self._potential(observation, info)
        return observation, info

    def step(self, action: Any) -> _Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated else self._potential(observation, info)
        shaped = float(reward) + self._discount * after - self._before
        self._before = after
        return observation, shaped, terminated, truncated, info


def _ours(wrapper: gymnasium.Wrapper[Any, Any, Any, Any]) -> TextGameEnv:
    """The environment of ours under the wrappers."""
    env = wrapper.unwrapped
    if not isinstance(env, TextGameEnv):
        raise BadOption(f"{type(wrapper).__name__} goes around a text game of gymposium, not around {env}.")
    return env
