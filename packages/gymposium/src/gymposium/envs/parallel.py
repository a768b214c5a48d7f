"""Games in which all live seats move in every step, as PettingZoo parallel environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from pettingzoo import ParallelEnv

from gymposium.driver import Played
from gymposium.envs.aec import KEYWORDS
from gymposium.envs.episode import Caller, Episode
from gymposium.envs.gym import as_reply
from gymposium.envs.options import (
    RENDER_MODES,
    agent_names,
    check_render_mode,
    fresh_seed,
    open_game,
    open_policy,
    show,
)
from gymposium.envs.views import Views
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Match, Style
from gymposium.reading import reader


class TextGameParallelEnv(ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """A text game whose seats all move at once.

    Observations, actions and keywords are those of the AEC environment. Where `on_illegal` lets a seat
    try again, the step after it needs an action of that seat only (the others' masks are all zeros, and
    what they send then is not read): the moves that they gave stand.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game,
        *,
        on_illegal: str | FailurePolicy = "forfeit",
        reply: str = "move",
        prompt: Style = "full",
        render_mode: str | None = None,
        **params: Any,
    ) -> None:
        self.game = open_game(game, params, KEYWORDS)
        if self.game.spec.dynamics != "simultaneous":
            raise BadOption(f"The seats of {self.game.name} take turns: make it as 'aec', not as 'parallel'.")
        self.metadata = {**type(self).metadata, "name": self.game.spec.env_id}
        self.render_mode = check_render_mode(render_mode)
        self._policy = open_policy(on_illegal)
        how = reader(reply)
        self._views = Views(self.game, prompt, how)
        self._players = [Caller(how, prompt)] * self.game.seats
        self.possible_agents = agent_names(self.game)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: self._views.space("dict") for agent in self.possible_agents}
        self.action_spaces = {agent: self._views.action_space() for agent in self.possible_agents}
        self.agents: list[str] = []
        self._rng: np.random.Generator | None = None
        self._episode: Episode | None = None

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin a match from `seed`, or from a seed drawn after the last one given. `options` are not used."""
        match_seed, self._rng = fresh_seed(seed, self._rng)
        self._episode = episode = Episode(self.game, self._players, match_seed, self._policy)
        self.agents = self.possible_agents.copy()
        self._returns = [0.0] * self.game.seats
        if self.render_mode == "human":
            self.render()
        return self._observations(episode), {a: self._views.info(episode, s) for a, s in self._seats.items()}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One reply of each seat that is asked, played together."""
        episode = self._running()
        if episode.played is not None:
            raise ResetNeeded("The match is over: call reset() before the next step().")
        missing = [agent for agent, seat in self._seats.items() if seat in episode.asks and agent not in actions]
        if missing:
            raise InvalidAction(f"{', '.join(missing)} must move too, but no action was given.")
        since = len(episode.underway.turns)
        episode.answer({seat: as_reply(actions[self.possible_agents[seat]], self.game) for seat in episode.asks})
        rewards = {}
        for agent, seat in self._seats.items():
            now = episode.return_of(seat)
            rewards[agent], self._returns[seat] = now - self._returns[seat], now
        over = episode.played is not None
        if over:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return (
            self._observations(episode),
            rewards,
            dict.fromkeys(self._seats, over),
            dict.fromkeys(self._seats, False),
            {agent: self._views.info(episode, seat, since) for agent, seat in self._seats.items()},
        )

    def _observations(self, episode: Episode) -> dict[str, Any]:
        return {agent: self._views.observe(episode, seat, "dict") for agent, seat in self._seats.items()}

    def render(self) -> str | None:
        """The views of all seats, one after the other: returned for `ansi`, printed for `human`."""
        episode = self._running()
        views = [f"{agent}:\n{self._views.drawn(episode, seat)}" for agent, seat in self._seats.items()]
        return show("\n".join(views), self.render_mode)

    def close(self) -> None:
        """Nothing to release."""

    @property
    def match(self) -> Match:
        """The match of this episode; its `events` are its record. To be looked at, not to be changed."""
        return self._running().match

    @property
    def played(self) -> Played | None:
        """The finished match, as `gymposium.records.RecordWriter.write` takes it; None until it is over."""
        return None if self._episode is None else self._episode.played

    def _running(self) -> Episode:
        if self._episode is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._episode
