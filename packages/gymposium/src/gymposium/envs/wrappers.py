"""Wrappers that replace the game's reward or record matches.

The rewards of an unwrapped environment add up to the game's return. `ScoreReward` and `RecordMatches` need a gymposium
environment inside; the other wrappers accept any environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from gymposium.envs.gym import TextGameEnv
from gymposium.errors import BadOption
from gymposium.match.score import match_score
from gymposium.records import RecordWriter
from gymposium.util.writable import check_writable

_Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class ScoreReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A wrapper whose reward is the match score in [0, 1] at the end (`gymposium.match.score`), and 0 at all other
    steps.

    The scale is the same in every game: with two seats, 1 for a win, 0.5 for a draw and 0 for a loss. Penalties from
    `on_illegal` are subtracted, as in the training reward `score`. Otherwise failed replies would be free."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        _find_text_env(self)

    def step(self, action: Any) -> _Step:
        observation, _, terminated, truncated, info = self.env.step(action)
        env = _find_text_env(self)
        played = env.played if terminated else None
        if played is None:
            return observation, 0.0, terminated, truncated, info
        score = match_score(env.game, played.utilities, env.seat, played.ending.seat)
        return observation, score - played.penalties.get(env.seat, 0.0), terminated, truncated, info


class StepPenalty(gymnasium.RewardWrapper[Any, Any], RecordConstructorArgs):
    """A wrapper that subtracts a cost from every step's reward, so earlier ends are worth more.

    This changes the optimal play."""

    def __init__(self, env: gymnasium.Env[Any, Any], cost: float) -> None:
        if not 0 < cost < math.inf:
            raise BadOption(f"cost={cost!r} must be a number greater than 0.")
        RecordConstructorArgs.__init__(self, cost=cost)
        super().__init__(env)
        self._cost = cost

    def reward(self, reward: SupportsFloat) -> float:
        """Return the step's reward minus the cost."""
        return float(reward) - self._cost


class PotentialShaping(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Potential-based reward shaping: each step's reward increases by γ·Φ(after) - Φ(before).

    `potential`, Φ, is a function of an observation and its info. Φ is 0 at the end. Raises `BadOption` for a Φ that is
    not finite.

    Optimal play does not change if the learner discounts by the same `discount`, γ (Ng, Harada and Russell 1999,
    "Policy invariance under reward transformations")."""

    def __init__(
        self, env: gymnasium.Env[Any, Any], potential: Callable[[Any, dict[str, Any]], float], discount: float = 1.0
    ) -> None:
        if not 0 < discount <= 1:
            raise BadOption(f"discount={discount!r} must be a number above 0 and at most 1.")
        RecordConstructorArgs.__init__(self, potential=potential, discount=discount)
        super().__init__(env)
        self._potential, self._discount = potential, discount
        self._before = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._before = self._measure(observation, info)
        return observation, info

    def step(self, action: Any) -> _Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated else self._measure(observation, info)
        shaped = float(reward) + self._discount * after - self._before
        self._before = after
        return observation, shaped, terminated, truncated, info

    def _measure(self, observation: Any, info: dict[str, Any]) -> float:
        potential = self._potential(observation, info)
        if not math.isfinite(potential):
            raise BadOption(f"PotentialShaping: the potential is {potential}. Return a finite number.")
        return potential


class RecordMatches(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A wrapper that appends each finished match to the JSONL file `path`, for `gymposium verify` and `view`.

    Environments in several threads and processes may share the file. A match that is reset before its end is not
    recorded. Raises `BadOption` if the file cannot be written."""

    def __init__(self, env: gymnasium.Env[Any, Any], path: str | Path) -> None:
        RecordConstructorArgs.__init__(self, path=path)
        super().__init__(env)
        _find_text_env(self)
        self.path = check_writable("path", Path(path))

    def step(self, action: Any) -> _Step:
        outcome = self.env.step(action)
        if (played := _find_text_env(self).played) is not None:
            with RecordWriter(self.path, wait=True) as writer:
                writer.write(played)
        return outcome


def _find_text_env(wrapper: gymnasium.Wrapper[Any, Any, Any, Any]) -> TextGameEnv:
    """Return the environment inside all wrappers. Raises `BadOption` if it is not a gymposium environment."""
    env = wrapper.unwrapped
    if not isinstance(env, TextGameEnv):
        raise BadOption(
            f"{type(wrapper).__name__} needs a gymposium text game, not {env}. Wrap gymnasium.make('gymposium/…')."
        )
    return env
