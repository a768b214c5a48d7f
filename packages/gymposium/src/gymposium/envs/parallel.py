"""Games in which all live seats move in every step, as PettingZoo parallel environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.error import InvalidAction, ResetNeeded
from pettingzoo import ParallelEnv

from gymposium.driver import MatchResult
from gymposium.envs.actions import as_reply
from gymposium.envs.agents import Agents
from gymposium.envs.options import METADATA
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match


class TextGameParallelEnv(ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """A text game whose seats all move at once.

    Observations, actions and keywords are those of the AEC environment. Where `on_illegal` lets a seat
    try again, the step after it needs an action of that seat only (the others' masks are all zeros, and
    what they send then is not read): the moves that they gave stand.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, game: str | Game, **keywords: Any) -> None:
        self._agents = Agents(game, **keywords)
        self.game = self._agents.game
        if self.game.spec.dynamics != "simultaneous":
            raise BadOption(f"The seats of {self.game.name} take turns: make it as 'aec', not as 'parallel'.")
        self.metadata = {**METADATA, "name": self.game.spec.env_id}
        self.render_mode = self._agents.render_mode
        self.possible_agents = self._agents.names
        self.observation_spaces = self._agents.observation_spaces
        self.action_spaces = self._agents.action_spaces
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin a match from `seed`, or from a seed drawn after the last one given. There are no `options`."""
        self._agents.begin(seed, options)
        self.agents = self.possible_agents.copy()
        if self.render_mode == "human":
            self.render()
        return self._observations(), self._agents.infos()

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One reply of each seat that is asked, played together."""
        self._agents.check_open()
        episode, names = self._agents.episode, self.possible_agents
        if episode.over:
            raise ResetNeeded("The match is over: call reset() before the next step().")
        missing = [names[seat] for seat in episode.asks if names[seat] not in actions]
        if missing:
            raise InvalidAction(f"{', '.join(missing)} must move too, but no action was given.")
        if strangers := [name for name in actions if name not in names]:
            raise InvalidAction(f"{', '.join(map(str, strangers))}: no such agent. There are {', '.join(names)}.")
        since = len(episode.underway.turns)
        rewards = self._agents.answer({seat: as_reply(actions[names[seat]], self.game) for seat in episode.asks})
        over = episode.played is not None
        if over:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return (
            self._observations(),
            rewards,
            dict.fromkeys(names, over),
            dict.fromkeys(names, False),
            self._agents.infos(since),
        )

    def _observations(self) -> dict[str, Any]:
        return {agent: self._agents.observe(agent) for agent in self.possible_agents}

    def render(self) -> str | None:
        """The views of all seats, one after the other: returned for `ansi`, printed for `human`."""
        return self._agents.render(*self.possible_agents)

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
