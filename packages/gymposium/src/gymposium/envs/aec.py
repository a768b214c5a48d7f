"""The games as PettingZoo AEC environments: every seat is an agent, `player_0 … player_n-1`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from gymposium.driver import Played
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
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Match, Style
from gymposium.players.protocol import Reply
from gymposium.reading import reader

KEYWORDS = ("on_illegal", "reply", "prompt", "render_mode")


def env(**keywords: Any) -> AECEnv[str, Any, Any]:
    """The environment as PettingZoo makes it: stepping before a reset is an error."""
    return OrderEnforcingWrapper(TextGameAECEnv(**keywords))


class TextGameAECEnv(AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """A text game whose seats step one at a time.

    Observations are dicts of text, action_mask and observation (the last two where the game has them),
    actions text or an index. Where moves are simultaneous each seat gives its own in turn, and they are
    played together: none sees another's. Keywords: `game`, `on_illegal`, `reply`, `prompt`,
    `render_mode` and the game's own parameters, as for the Gymnasium environment.
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
        super().__init__()
        self.game = open_game(game, params, KEYWORDS)
        self.metadata = {**type(self).metadata, "name": self.game.spec.env_id, "is_parallelizable": False}
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
        self._given: dict[int, Reply] = {}

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a match from `seed`, or from a seed drawn after the last one given. `options` are not used."""
        match_seed, self._rng = fresh_seed(seed, self._rng)
        self._episode = episode = Episode(self.game, self._players, match_seed, self._policy)
        self._given = {}
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._returns = [0.0] * self.game.seats
        self.infos = {agent: self._views.info(episode, seat) for agent, seat in self._seats.items()}
        self._skip_agent_selection = None
        self._select(episode)
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, Any]:
        """What the agent's seat may see now; its mask is all zeros while it is not asked."""
        seen: dict[str, Any] = self._views.observe(self._running(), self._seats[agent], "dict")
        return seen

    def step(self, action: Any) -> None:
        """The reply of `agent_selection`; None once it is done."""
        episode, agent = self._running(), self.agent_selection
        if not self.agents:
            raise ResetNeeded("The match is over: call reset() before the next step().")
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._given[self._seats[agent]] = as_reply(action, self.game)
        if len(self._given) == len(episode.asks):
            self._answer(episode)
        self._select(episode)
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _answer(self, episode: Episode) -> None:
        """All who are asked have replied: play it, and see what it brought each seat."""
        since = len(episode.underway.turns)
        episode.answer(self._given)
        self._given = {}
        for agent, seat in self._seats.items():
            now = episode.return_of(seat)
            self.rewards[agent], self._returns[seat] = now - self._returns[seat], now
            self.terminations[agent] = episode.played is not None
            self.infos[agent] = self._views.info(episode, seat, since)

    def _select(self, episode: Episode) -> None:
        waiting = [seat for seat in episode.asks if seat not in self._given]
        self.agent_selection = self.possible_agents[waiting[0] if waiting else 0]

    def render(self) -> str | None:
        """The view of `agent_selection`'s seat: returned for `ansi`, printed for `human`."""
        text = self._views.drawn(self._running(), self._seats[self.agent_selection])
        return show(text, self.render_mode)

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
