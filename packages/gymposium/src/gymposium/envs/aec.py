"""Games as PettingZoo AEC environments: every seat is an agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from gymposium.envs.agents import AgentsEnv
from gymposium.envs.options import check_open, parse_action
from gymposium.games.protocol import Game
from gymposium.players.protocol import Reply


def env(**keywords: Any) -> AECEnv[str, Any, Any]:
    """Return the environment inside PettingZoo's order-enforcing wrapper."""
    return OrderEnforcingWrapper(TextGameAECEnv(**keywords))


class TextGameAECEnv(AgentsEnv, AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """A text game whose seats, the agents `player_0` to `player_n-1`, step one at a time.

    By default, observations are dicts of text and, if the game has them, action_mask and observation. Actions are text
    or an index. In a simultaneous move, the seats act one after the other without seeing each other's moves. The moves
    are then played together. The keywords `game`, `on_illegal`, `reply`, `prompt`, `observation` (default `"dict"`) and
    `render_mode`, and the game's parameters, are those of the Gymnasium environment. Without `"dict"`, the
    mask is `infos[agent]["action_mask"]`. With `"tensor"` and `"image"`, infos contain only the seat and the mask.

    PettingZoo's `aec_to_parallel` accepts the environment if all seats move simultaneously and `on_illegal` is
    `"forfeit"` or `"random"`. It needs agents to step in a fixed cycle, which a retry breaks.
    """

    def __init__(self, game: str | Game, **keywords: Any) -> None:
        super().__init__(game, **keywords)
        joint = self.game.spec.dynamics == "simultaneous"
        self.metadata["is_parallelizable"] = joint and not self._options.policy.asks_again
        self._replies: dict[int, Reply] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin the match for `seed`, or for one drawn from the last seed's generator. No `options` are supported."""
        self._begin(seed, options)
        self._replies = {}
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = self._make_infos()
        self._skip_agent_selection = None
        self._select()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Any:
        """Return the agent's observation. Its mask is all zeros while it is not the agent's turn."""
        return self._observe(agent)

    def step(self, action: Any) -> None:
        """Apply the action of `agent_selection`. The action is None if that agent is terminated."""
        check_open(self._closed)
        table = self._open_table()
        if not self.agents or table.error is not None:
            raise ResetNeeded("The match is over. Call reset() before the next step().")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._replies[self._seats[agent]] = parse_action(action, self.game)
        if len(self._replies) == len(table.asks):  # every seat of the decision has replied
            since, replies, self._replies = len(table.turns), self._replies, {}
            self.rewards = self._answer(replies)
            self.infos = self._make_infos(since)
            self.terminations = dict.fromkeys(self.agents, table.over)
        self._select()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _select(self) -> None:
        waiting = [seat for seat in self._open_table().asks if seat not in self._replies]
        self.agent_selection = self.possible_agents[waiting[0] if waiting else 0]

    def render(self) -> str | np.ndarray | None:
        """Render the view of `agent_selection`: returned for `ansi` and `rgb_array`, printed for `human`."""
        self._open_table()  # raises before the first reset, when no agent is selected
        return self._render(self.agent_selection)
