"""All seats of a game as PettingZoo's agents: what its two kinds of environments hold, and differ in nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.error import ResetNeeded

from gymposium.driver import Played
from gymposium.envs.episode import Caller, Episode
from gymposium.envs.options import RENDER_MODES, check_render_mode, fresh_seed, open_game, open_policy, show
from gymposium.envs.views import Views
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Reply
from gymposium.reading import reader

KEYWORDS = ("on_illegal", "reply", "prompt", "render_mode")
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}


class Agents:
    """The agents `player_0 … player_n-1`, their spaces, and one match after another."""

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
        self.render_mode = check_render_mode(render_mode)
        self.names = [f"player_{seat}" for seat in range(self.game.seats)]
        self.seats = {name: seat for seat, name in enumerate(self.names)}
        how = reader(reply)
        self.views = Views(self.game, prompt, how)
        self.observation_spaces: dict[str, Space[Any]] = {name: self.views.space("dict") for name in self.names}
        self.action_spaces: dict[str, Space[Any]] = {name: self.views.action_space() for name in self.names}
        self._players = [Caller(how, prompt)] * self.game.seats
        self._policy = open_policy(on_illegal)
        self._rng: np.random.Generator | None = None
        self._episode: Episode | None = None
        self._returns = [0.0] * self.game.seats

    def begin(self, seed: int | None) -> Episode:
        """A new match, from `seed` or from a seed drawn after the last one given."""
        match_seed, self._rng = fresh_seed(seed, self._rng)
        self._returns = [0.0] * self.game.seats
        self._episode = Episode(self.game, self._players, match_seed, self._policy)
        return self._episode

    @property
    def episode(self) -> Episode:
        """The match of this episode. Raises `ResetNeeded` before the first."""
        if self._episode is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._episode

    @property
    def played(self) -> Played | None:
        return None if self._episode is None else self._episode.played

    def answer(self, given: Mapping[int, Reply]) -> dict[str, float]:
        """Play one reply of each seat that is asked. What it brought each agent."""
        self.episode.answer(given)
        rewards = {}
        for name, seat in self.seats.items():
            now = self.episode.return_of(seat)
            rewards[name], self._returns[seat] = now - self._returns[seat], now
        return rewards

    def observe(self, name: str) -> dict[str, Any]:
        """What the agent's seat may see now."""
        seen: dict[str, Any] = self.views.observe(self.episode, self.seats[name], "dict")
        return seen

    def infos(self, since: int | None = None) -> dict[str, dict[str, Any]]:
        """Every agent's info; with the readings of the replies after the first `since` turns."""
        return {name: self.views.info(self.episode, seat, since) for name, seat in self.seats.items()}

    def render(self, *names: str) -> str | None:
        """The views of these agents' seats: returned for `ansi`, printed for `human`."""
        drawn = [self.views.drawn(self.episode, self.seats[name]) for name in names]
        if len(names) > 1:
            drawn = [f"{name}:\n{text}" for name, text in zip(names, drawn, strict=True)]
        return show("\n".join(drawn), self.render_mode)
