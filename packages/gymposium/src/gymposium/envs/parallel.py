"""Fully simultaneous games as PettingZoo parallel environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from pettingzoo import ParallelEnv

from gymposium.envs.agents import AgentsEnv
from gymposium.envs.options import check_open, parse_action
from gymposium.errors import BadOption
from gymposium.games.protocol import Game


class TextGameParallelEnv(AgentsEnv, ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """A text game whose seats all move simultaneously.

    Observations, actions and keywords are those of the AEC environment. If `on_illegal` lets a seat retry, the next
    step needs an action for that seat only. The other seats' moves are kept, their masks are all zeros, and their
    actions are ignored.
    """

    def __init__(self, game: str | Game, **keywords: Any) -> None:
        super().__init__(game, **keywords)
        if self.game.spec.dynamics != "simultaneous":
            raise BadOption(
                f"The seats of {self.game.name} take turns. Use the 'aec' environment instead of 'parallel'."
            )

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin the match for `seed`, or for one drawn from the last seed's generator. No `options` are supported."""
        self._begin(seed, options)
        if self.render_mode == "human":
            self.render()
        return self._make_observations(), self._make_infos()

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play one reply from each seat that must answer."""
        check_open(self._closed)
        table, agents = self._open_table(), self.possible_agents
        if table.over:
            raise ResetNeeded("The match is over. Call reset() before the next step().")
        missing = [agents[seat] for seat in table.asks if agents[seat] not in actions]
        if missing:
            raise InvalidAction(f"Missing actions for {', '.join(missing)}. All of them must move now.")
        if unknown := [agent for agent in actions if agent not in agents]:
            raise InvalidAction(f"Unknown agents: {', '.join(map(str, unknown))}. The agents are {', '.join(agents)}.")
        since = len(table.turns)
        rewards = self._answer({seat: parse_action(actions[agents[seat]], self.game) for seat in table.asks})
        over = table.played is not None
        if over:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return (
            self._make_observations(),
            rewards,
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, False),
            self._make_infos(since),
        )

    def _make_observations(self) -> dict[str, Any]:
        return {agent: self._observe(agent) for agent in self.possible_agents}

    def render(self) -> str | np.ndarray | None:
        """Render the views of all seats: text one after the other, returned for `ansi` and printed for `human`, or
        pictures side by side for `rgb_array`."""
        return self._render(*self.possible_agents)
