"""All seats of a game as PettingZoo's agents: what its two kinds of environments hold, and differ in nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.error import ResetNeeded

from gymposium.driver import MatchResult
from gymposium.envs.episode import Caller, Episode, go_on
from gymposium.envs.options import (
    check_open,
    check_options,
    check_render_mode,
    fresh_seed,
    open_game,
    open_policy,
    show,
)
from gymposium.envs.views import Views
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Reply
from gymposium.reading import reader

KEYWORDS = ("on_illegal", "reply", "prompt", "observation", "render_mode")


class Agents:
    """The agents `player_0 … player_n-1`, their spaces, and one match after another."""

    def __init__(
        self,
        game: str | Game,
        *,
        on_illegal: str | FailurePolicy = "forfeit",
        reply: str = "move",
        prompt: Style = "full",
        observation: str = "dict",
        render_mode: str | None = None,
        **params: Any,
    ) -> None:
        self.game = open_game(game, params, KEYWORDS)
        self.render_mode = check_render_mode(render_mode)
        self.names = [f"player_{seat}" for seat in range(self.game.seats)]
        self.seats = {name: seat for seat, name in enumerate(self.names)}
        how = reader(reply)
        self.views = Views(self.game, prompt, how)
        self.kind = observation
        self.observation_spaces: dict[str, Space[Any]] = {name: self.views.space(observation) for name in self.names}
        self.action_spaces: dict[str, Space[Any]] = {name: self.views.action_space() for name in self.names}
        self._players = [Caller(how, prompt)] * self.game.seats
        self._policy = open_policy(on_illegal)
        self._rng: np.random.Generator | None = None
        self._episode: Episode | None = None
        self._returns = [0.0] * self.game.seats
        self._closed = False

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """A new match, from `seed` or from a seed drawn after the last one given. Raises `EngineError` where the
        game's engine fails, `BadOption` for any option but the one that PettingZoo's own tests give."""
        self.check_open()
        if options != {"options": 1}:
            check_options(options, ())
        match_seed, self._rng = fresh_seed(seed, self._rng)
        self._returns = [0.0] * self.game.seats
        self._episode = Episode(self.game, self._players, match_seed, self._policy)
        self._go_on(self._episode)

    def check_open(self) -> None:
        """Raises `ClosedEnvironmentError` after `close`."""
        check_open(self._closed)

    def close(self) -> None:
        """No more resets, steps and renders."""
        self._closed = True

    @property
    def episode(self) -> Episode:
        """The match of this episode. Raises `ResetNeeded` before the first."""
        if self._episode is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._episode

    @property
    def played(self) -> MatchResult | None:
        return None if self._episode is None else self._episode.ended

    def answer(self, given: Mapping[int, Reply]) -> dict[str, float]:
        """Play one reply of each seat that is asked. What it brought each agent. Raises `EngineError`."""
        self.episode.answer(given)
        self._go_on(self.episode)
        rewards = {}
        for name, seat in self.seats.items():
            now = self.episode.return_of(seat)
            rewards[name], self._returns[seat] = now - self._returns[seat], now
        return rewards

    def _go_on(self, episode: Episode) -> None:
        go_on([episode])
        if episode.error is not None:
            raise episode.error

    def observe(self, name: str) -> Any:
        """What the agent's seat may see now. Raises `BadOption` where there is no such agent."""
        if name not in self.seats:
            raise BadOption(f"{name!r} is no agent of {self.game.name}: there are {', '.join(self.names)}.")
        return self.views.observe(self.episode, self.seats[name], self.kind)

    def infos(self, since: int | None = None) -> dict[str, dict[str, Any]]:
        """Every agent's info; with the readings of the replies after the first `since` turns. It holds the
        `action_mask` where the observation does not. With tensors it holds numbers alone, under the same keys from
        reset to end, since learners make arrays of all that is in it."""
        return {name: self._info(seat, since) for name, seat in self.seats.items()}

    def _info(self, seat: int, since: int | None) -> dict[str, Any]:
        info: dict[str, Any] = {"seat": seat} if self.kind == "tensor" else self.views.info(self.episode, seat, since)
        if self.kind != "dict" and self.game.num_actions:
            info["action_mask"] = self.views.mask(self.episode, seat)
        return info

    def render(self, *names: str) -> str | None:
        """The views of these agents' seats: returned for `ansi`, printed for `human`."""
        self.check_open()
        drawn = [self.views.drawn(self.episode, self.seats[name]) for name in names]
        if len(names) > 1:
            drawn = [f"{name}:\n{text}" for name, text in zip(names, drawn, strict=True)]
        return show("\n".join(drawn), self.render_mode)
