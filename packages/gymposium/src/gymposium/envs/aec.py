"""The games as PettingZoo AEC environments: every seat is an agent, `player_0 … player_n-1`."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from gymposium.driver import MatchResult
from gymposium.envs.actions import as_reply
from gymposium.envs.agents import Agents
from gymposium.envs.options import METADATA
from gymposium.games.protocol import Game, Match
from gymposium.players.protocol import Reply


def env(**keywords: Any) -> AECEnv[str, Any, Any]:
    """The environment as PettingZoo makes it: stepping before a reset is an error."""
    return OrderEnforcingWrapper(TextGameAECEnv(**keywords))


class TextGameAECEnv(AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """A text game whose seats step one at a time.

    Observations are dicts of text, action_mask and observation (the last two where the game has them), or what
    `observation` says; actions are text or an index. Where moves are simultaneous each seat gives its own in turn,
    and they are played together: none sees another's. Keywords: `game`, `on_illegal`, `reply`, `prompt`,
    `observation` (by default `"dict"`), `render_mode` and the game's own parameters, as for the Gymnasium
    environment. With `"text"` and `"tensor"` the mask is `infos[agent]["action_mask"]`; with `"tensor"` infos hold
    the seat and the mask alone.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, game: str | Game, **keywords: Any) -> None:
        super().__init__()
        self._agents = Agents(game, **keywords)
        self.game = self._agents.game
        self.metadata = {**METADATA, "name": self.game.spec.env_id, "is_parallelizable": False}
        self.render_mode = self._agents.render_mode
        self.possible_agents = self._agents.names
        self.observation_spaces = self._agents.observation_spaces
        self.action_spaces = self._agents.action_spaces
        self.agents: list[str] = []
        self._given: dict[int, Reply] = {}

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a match from `seed`, or from a seed drawn after the last one given. There are no `options`."""
        self._agents.begin(seed, options)
        self._given = {}
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = self._agents.infos()
        self._skip_agent_selection = None
        self._select()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Any:
        """What the agent's seat may see now; its mask is all zeros while it is not asked."""
        return self._agents.observe(agent)

    def step(self, action: Any) -> None:
        """The reply of `agent_selection`; None once it is done."""
        self._agents.check_open()
        episode = self._agents.episode
        if not self.agents or episode.error is not None:
            raise ResetNeeded("The match is over: call reset() before the next step().")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._given[self._agents.seats[agent]] = as_reply(action, self.game)
        if len(self._given) == len(episode.asks):  # all who are asked have replied: play it
            since, given, self._given = len(episode.underway.turns), self._given, {}
            self.rewards = self._agents.answer(given)
            self.infos = self._agents.infos(since)
            self.terminations = dict.fromkeys(self.agents, episode.played is not None)
        self._select()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _select(self) -> None:
        waiting = [seat for seat in self._agents.episode.asks if seat not in self._given]
        self.agent_selection = self.possible_agents[waiting[0] if waiting else 0]

    def render(self) -> str | None:
        """The view of `agent_selection`'s seat: returned for `ansi`, printed for `human`."""
        self._agents.episode  # noqa: B018 - raises where there is none, and then nobody is selected
        return self._agents.render(self.agent_selection)

    def close(self) -> None:
        """End it: no more resets, steps and renders."""
        self._agents.close()

    @property
    def match(self) -> Match:
        """The match of this episode; its `events` are its record. To be looked at, not to be changed."""
        return self._agents.episode.look_at_match()

    @property
    def played(self) -> MatchResult | None:
        """The finished match, as `gymposium.records.RecordWriter.write` takes it; None until it is over."""
        return self._agents.played
