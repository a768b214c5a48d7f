"""A recorder for episodes of TextArena's own games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import textarena as ta
from textarena.envs.registration import ENV_REGISTRY

from gymposium.errors import BadOption, GymposiumError, WrongType
from gymposium.util.lines import LineWriter
from gymposium_textarena.env import GymposiumEnv
from gymposium_textarena.episodes import Episode, compute_digest, to_json


class RecordedEnv(ta.Wrapper):  # type: ignore[misc]  # TextArena publishes no types
    """A wrapper that records one episode. Apply it directly to the result of `textarena.make`, before other wrappers.
    Create a new environment for each episode, because TextArena's observation wrappers keep earlier text. Keywords of
    `textarena.make` are not recorded, so an episode with keywords cannot be replayed."""

    def __init__(self, env: Any, path: str | Path | None = None) -> None:
        """`close` appends the episode to the file `path`.

        Raises `BadOption` for an environment with other wrappers, and for a `GymposiumEnv`."""
        super().__init__(env)
        wrappers: list[type] = []
        inner = env
        while isinstance(inner, ta.Wrapper):
            wrappers.insert(0, type(inner))
            inner = inner.env
        if isinstance(inner, GymposiumEnv):
            raise BadOption("gymposium's games have their own records. Use GymposiumEnv.record().")
        self._id: str = getattr(inner, "env_id", "")
        if self._id not in ENV_REGISTRY or (ENV_REGISTRY[self._id].default_wrappers or []) != wrappers:
            raise BadOption(f"{env!r} has other wrappers. Wrap the result of textarena.make in RecordedEnv first.")
        self._path = path
        self._begun: tuple[int, int] | None = None
        self._turn: tuple[int, Any] | None = None
        """The current turn's observation, once requested."""
        self._shown: list[Any] = []
        self._actions: list[tuple[int, str]] = []
        self._done = False
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The episode. Raises `GymposiumError` before its end and `close`."""
        if self._episode is None:
            raise GymposiumError("The episode is not over. Finish it, then call close().")
        return self._episode

    def reset(self, num_players: int, seed: int | None = None) -> Any:
        """Begin the episode. Raises `BadOption` if `seed` is missing or an episode has already begun."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise BadOption(f"seed={seed!r}: give a number. Without a seed, the episode cannot be replayed.")
        if self._begun is not None:
            raise BadOption("RecordedEnv supports a single episode. Make a new environment for the next one.")
        self._begun = (num_players, seed)
        return self.env.reset(num_players=num_players, seed=seed)

    def get_observation(self) -> tuple[int, Any]:
        if self._turn is None:
            self._turn = self.env.get_observation()
        return self._turn

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play an action. Raises `WrongType` for an action that is not text, and the environment's errors."""
        if not isinstance(action, str):
            raise WrongType("An action", "text", action)
        player, observation = self.get_observation()
        self._turn = None
        self._shown.append([player, to_json(observation)])
        self._actions.append((player, action))
        self._done, info = self.env.step(action=action)
        return self._done, info

    def close(self) -> tuple[Any, Any]:
        """Return the environment's rewards and infos, and write a finished episode.

        Raises `GymposiumError` if JSON cannot represent them, or if the file cannot be written."""
        rewards, game_info = self.env.close()
        if self._done and self._episode is None and self._begun is not None:
            paid, told = to_json(rewards), to_json(game_info)
            self._episode = Episode(
                env=self._id,
                version=ta.__version__,
                seed=self._begun[1],
                num_players=self._begun[0],
                actions=tuple(self._actions),
                rewards=paid,
                game_info=told,
                digest=compute_digest(self._shown, paid, told),
            )
            if self._path is not None:
                with LineWriter(self._path, wait=True) as file:
                    file.append_lines(self._episode.line())
        return rewards, game_info
