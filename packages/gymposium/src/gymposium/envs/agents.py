"""Base class of the AEC and parallel environments, where all seats of a game are agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space

from gymposium.envs.options import (
    METADATA,
    SharedOptions,
    check_open,
    check_options,
    choose_seed,
    render_views,
    require_table,
)
from gymposium.envs.table import Table, make_match_id
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match
from gymposium.match import MatchJob, MatchResult
from gymposium.players.protocol import Reply

KEYWORDS = ("on_illegal", "reply", "prompt", "observation", "render_mode")


class AgentsEnv:
    """A game's agents `player_0` to `player_n-1`, with their spaces and current match."""

    metadata: dict[str, Any] = METADATA

    def __init__(self, game: str | Game, *, observation: str = "dict", **keywords: Any) -> None:
        super().__init__()
        self._options = options = SharedOptions(game, KEYWORDS, observation=observation, **keywords)
        self.game = options.game
        self.metadata = {**METADATA, "name": self.game.spec.env_id}
        self.render_mode = options.render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.seats)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        views = options.views
        self.observation_spaces: dict[str, Space[Any]] = {a: views.space(observation) for a in self.possible_agents}
        self.action_spaces: dict[str, Space[Any]] = {agent: views.action_space() for agent in self.possible_agents}
        if self.game.tensor_shape is not None:
            self.state_space = views.state_space()
        self._rng: np.random.Generator | None = None
        self._table: Table | None = None
        self._returns = [0.0] * self.game.seats
        self._closed = False

    def observation_space(self, agent: str) -> Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        return self.action_spaces[agent]

    def state(self) -> np.ndarray:
        """Return the tensors of all seats, concatenated, for learners with a central critic.

        Raises `NotImplementedError` if the game has no tensors. Then `state_space` is missing too."""
        if self.game.tensor_shape is None:
            raise NotImplementedError(
                f"{self.game.name} has no tensors, so state() is not available. Use the agents' observations instead."
            )
        return self._options.views.state(self._open_table())

    def close(self) -> None:
        """Close the environment: afterwards `reset`, `step` and `render` raise."""
        self._closed = True
        self._release()

    @property
    def match(self) -> Match:
        """The current match, with its `events`. It must not be modified."""
        return self._open_table().require_match()

    @property
    def played(self) -> MatchResult | None:
        """The match's result, for `gymposium.records.RecordWriter.write`; None until it is over."""
        return None if self._table is None else self._table.played

    # -- for both environments

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Begin the match for `seed`, or for one drawn from the last seed's generator.

        Raises `EngineError` if the game's engine fails. Raises `BadOption` for any option, except the one that
        PettingZoo's tests pass."""
        check_open(self._closed)
        if options != {"options": 1}:
            check_options(options, ())
        match_seed, self._rng = choose_seed(seed, self._rng)
        self._returns = [0.0] * self.game.seats
        players = [self._options.outside] * self.game.seats
        job = MatchJob(make_match_id("env"), self.game, players, match_seed, on_illegal=self._options.policy)
        self._release()
        self._table = Table.from_job(job)
        if self._table.error is not None:
            raise self._table.error
        self.agents = self.possible_agents.copy()

    def _release(self) -> None:
        """Release an unfinished match's resources. The match can still be read."""
        if self._table is not None:
            self._table.close()

    def _open_table(self) -> Table:
        """Return the current match's table. Raises `ResetNeeded` before the first match."""
        return require_table(self._table)

    def _answer(self, replies: Mapping[int, Reply]) -> dict[str, float]:
        """Play one reply from each seat that must answer, and return each agent's reward.

        Raises `EngineError` if the engine fails."""
        table = self._open_table()
        table.submit(replies)
        if table.error is not None:
            raise table.error
        rewards = {}
        for agent, seat in self._seats.items():
            now = table.get_return(seat)
            rewards[agent], self._returns[seat] = now - self._returns[seat], now
        return rewards

    def _observe(self, agent: str) -> Any:
        """Return the agent's observation. Raises `BadOption` for an unknown agent."""
        if agent not in self._seats:
            raise BadOption(f"Unknown agent {agent!r}. {self.game.name} has {', '.join(self.possible_agents)}.")
        return self._options.views.observe(self._open_table(), self._seats[agent], self._options.kind)

    def _make_infos(self, since: int | None = None) -> dict[str, dict[str, Any]]:
        """Return every agent's info, including the readings of replies after the first `since` turns.

        An info includes the `action_mask` unless the observation has it. With tensors and images, infos contain only
        numbers under the same keys at every step, because learners make arrays of the values."""
        return {agent: self._make_info(seat, since) for agent, seat in self._seats.items()}

    def _make_info(self, seat: int, since: int | None) -> dict[str, Any]:
        table, views, kind = self._open_table(), self._options.views, self._options.kind
        info: dict[str, Any] = {"seat": seat} if kind in ("tensor", "image") else views.info(table, seat, since)
        if kind != "dict" and self.game.num_actions:
            info["action_mask"] = views.mask(table, seat)
        return info

    def _render(self, *agents: str) -> str | np.ndarray | None:
        """Render the views of these agents' seats, as in `render_views`."""
        check_open(self._closed)
        return render_views(self._open_table(), {agent: self._seats[agent] for agent in agents}, self.render_mode)
