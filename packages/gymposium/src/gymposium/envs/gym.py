"""The games as Gymnasium environments: one seat is the learner's, the others are played for it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded

from gymposium.driver import Played
from gymposium.envs.episode import Caller, Episode
from gymposium.envs.options import (
    RENDER_MODES,
    check_render_mode,
    check_seat,
    draw_seed,
    open_game,
    open_opponents,
    open_policy,
    show,
)
from gymposium.envs.views import Views
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Match, Style
from gymposium.players.protocol import Player, Reply
from gymposium.reading import reader
from gymposium.streams import stream

KEYWORDS = ("opponent", "seat", "on_illegal", "reply", "prompt", "observation", "render_mode")


class TextGameEnv(gymnasium.Env[Any, Any]):
    """A text game against opponents.

    Actions are text (`"b2"`, read as `reply` says) or an index into the game's moves. Rewards add up to
    the seat's return. The match is drawn from the seed given to `reset`, else from `np_random`.

    Keywords: `game`, a name such as `"goofspiel"`, or a `Game`; `opponent`, one player for all other
    seats or a sequence with one for each, by name (`"random"`, `"mcts-100"`) or ready-made; `seat`, the
    learner's, or `"random"` to draw it anew for each match; `on_illegal`, what a reply that is no legal
    move costs, the learner's and the opponents' alike; `reply`, how text is read: `"move"`, `"tags"` or
    `"json"`; `prompt`, `"full"` or `"compact"`; `observation`, `"text"`, `"dict"` (text, action_mask,
    observation) or `"tensor"`; `render_mode`, `"ansi"` or `"human"`; and the game's own parameters.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game,
        *,
        opponent: str | Player | Sequence[str | Player] = "random",
        seat: int | str = 0,
        on_illegal: str | FailurePolicy = "forfeit",
        reply: str = "move",
        prompt: Style = "full",
        observation: str = "text",
        render_mode: str | None = None,
        **params: Any,
    ) -> None:
        self.game = open_game(game, params, KEYWORDS)
        self.render_mode = check_render_mode(render_mode)
        self._policy = open_policy(on_illegal)
        how = reader(reply)
        self._views = Views(self.game, prompt, how)
        self._caller = Caller(how, prompt)
        self._seat = check_seat(seat, self.game.seats)
        self._opponents = open_opponents(opponent, self.game.seats - 1)
        self._kind = observation
        self.observation_space = self._views.space(observation)
        self.action_space = self._views.action_space()
        self._episode: Episode | None = None
        self.seat = self._seat or 0
        """The learner's seat in this match."""
        self._return = 0.0
        """What the rewards of this match add up to so far."""
        self._ended = False
        """Whether a step has told that the match is over."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a match; opponents that come before the learner have moved. `options` are not used.

        Where one of them fails and the match is over before the learner is asked, `info` has its `result`
        already, no move is legal, and the first step, whatever its action, brings the reward and the end.
        """
        super().reset(seed=seed)
        match_seed = draw_seed(self.np_random) if seed is None else seed
        if self._seat is None:
            self.seat = int(stream(match_seed, "learner").random() * self.game.seats)
        players: list[Player] = list(self._opponents)
        players.insert(self.seat, self._caller)
        self._episode = None  # nothing to step while the first opponents think
        self._episode = episode = Episode(self.game, players, match_seed, self._policy)
        self._return, self._ended = 0.0, False
        if self.render_mode == "human":
            self.render()
        return self._views.observe(episode, self.seat, self._kind), self._views.info(episode, self.seat)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One reply of the learner, then opponents until it is asked again or the match is over."""
        episode, seat = self._episode, self.seat
        if episode is None or self._ended:
            why = "There is no match" if episode is None else "The match is over"
            raise ResetNeeded(f"{why}: call reset() before step().")
        since, reply = len(episode.underway.turns), as_reply(action, self.game)
        if episode.played is None:
            episode.answer({seat: reply})
        self._ended = episode.played is not None
        now = episode.return_of(seat)
        reward, self._return = now - self._return, now
        if self.render_mode == "human":
            self.render()
        observation = self._views.observe(episode, seat, self._kind)
        return observation, reward, self._ended, False, self._views.info(episode, seat, since)

    def render(self) -> str | None:
        """The seat's own view of the position: returned for `ansi`, printed for `human`."""
        if self._episode is None:
            raise ResetNeeded("There is no match to render: call reset() first.")
        return show(self._views.drawn(self._episode, self.seat), self.render_mode)

    def action_masks(self) -> np.ndarray:
        """One int8 for each action, 1 where it is legal now (for `action_space.sample` and MaskablePPO)."""
        if self._episode is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._views.mask(self._episode, self.seat)

    @property
    def match(self) -> Match:
        """The match of this episode; its `events` are its record. To be looked at, not to be changed."""
        if self._episode is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._episode.match

    @property
    def played(self) -> Played | None:
        """The finished match, as `gymposium.records.RecordWriter.write` takes it; None until it is over."""
        return None if self._episode is None else self._episode.played


def as_reply(action: Any, game: Game) -> Reply:
    """The reply that an action is: text, or an index into the game's moves. Raises `InvalidAction`."""
    if isinstance(action, str):
        return Reply(action)
    try:
        index = operator.index(action)
    except TypeError:
        index = -1
    if 0 <= index < game.num_actions:
        return Reply(str(index), action=index)
    wanted = f"text or an index from 0 to {game.num_actions - 1}" if game.num_actions else "text"
    raise InvalidAction(f"{action!r} is not an action of {game.name}: give {wanted}.")
