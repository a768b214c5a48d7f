"""One learner among players: what the single and the vector environment hold, and differ in nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from gymposium.driver import EngineError, MatchResult
from gymposium.envs.episode import Caller, Episode
from gymposium.envs.options import (
    check_options,
    check_render_mode,
    check_seat,
    open_game,
    open_opponents,
    open_policy,
    show,
)
from gymposium.envs.views import Views
from gymposium.errors import GymposiumError
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Player, Reply
from gymposium.reading import reader
from gymposium.streams import stream

KEYWORDS = ("opponent", "seat", "on_illegal", "reply", "prompt", "observation", "render_mode")


class Setting:
    """The keywords of `make`, opened: a game, how it is shown, and who plays the other seats. `keywords` are all
    there are, for the error that names what a misspelled one may have meant."""

    def __init__(
        self,
        game: str | Game,
        keywords: Sequence[str] = KEYWORDS,
        /,
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
        self.game = open_game(game, params, keywords)
        self.render_mode = check_render_mode(render_mode)
        self.policy = open_policy(on_illegal)
        how = reader(reply)
        self.views = Views(self.game, prompt, how)
        self.kind = observation
        self.observation_space = self.views.space(observation)
        self.action_space = self.views.action_space()
        self._caller = Caller(how, prompt)
        self._seat = check_seat(seat, self.game.seats)
        self._opponents = open_opponents(opponent, self.game.seats - 1)

    def seat_for(self, seed: int, options: dict[str, Any] | None, others: Iterable[str] = ()) -> int:
        """The learner's seat in the match of this seed: as `options` say, else as the keyword does. `others` are
        the options that are not looked at here. Raises `BadOption`."""
        seat = self._seat
        if options is not None:
            check_options(options, ("seat", *others))
            seat = check_seat(options["seat"], self.game.seats) if "seat" in options else seat
        return int(stream(seed, "learner").random() * self.game.seats) if seat is None else seat

    def players(self, seat: int) -> list[Player]:
        """Who sits where, with the learner in `seat`."""
        players = list(self._opponents)
        players.insert(seat, self._caller)
        return players


class Learner:
    """A learner's seat in one match after another.

    `begin` makes a match and `give` a move; after either, `go_on` has to be called for the `episode`, for many
    at once where there are many learners, and then `look` or `outcome` tells what came of it.
    """

    __slots__ = ("_episode", "_paid", "_setting", "_since", "over", "seat")

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._episode: Episode | None = None
        self._paid = 0.0
        self._since: int | None = None
        self.seat = 0
        """The seat in this match."""
        self.over = False
        """Whether an outcome has told that the match is over."""

    def begin(self, seed: int, seat: int) -> Episode:
        """A new match."""
        setting = self._setting
        self.seat, self.over, self._paid, self._since = seat, False, 0.0, None
        self._episode = None  # nothing to step where it cannot be made
        self._episode = Episode(setting.game, setting.players(seat), seed, setting.policy)
        return self._episode

    @property
    def episode(self) -> Episode:
        """The match. Raises `ResetNeeded` before the first."""
        if self._episode is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._episode

    @property
    def played(self) -> MatchResult | None:
        """The match, once it is over; also one that broke off, which says so in its `error`."""
        return None if self._episode is None else self._episode.ended

    def give(self, reply: Reply) -> Episode:
        """The learner's reply; of no effect where the match was over before it was asked. Raises `ResetNeeded`
        where an outcome has told so already."""
        if self.over:
            raise ResetNeeded("The match is over: call reset() before step().")
        episode = self._episode or self.episode
        if episode.played is None and episode.error is None:
            self._since = len(episode.underway.turns)
            episode.answer({self.seat: reply})
        return episode

    def look(self) -> tuple[Any, dict[str, Any]]:
        """What the learner observes, and its info."""
        _, seen, info = self._see()
        return seen, info

    def outcome(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What a step brought, as `gymnasium.Env.step` returns it. A match that broke off pays nothing more, and
        is truncated."""
        now, seen, info = self._see()
        reward, self._paid = now - self._paid, now
        episode = self._episode or self.episode
        broken = episode.error is not None
        finished = episode.played is not None and not broken
        self.over = finished or broken
        return seen, reward, finished, broken, info

    def _see(self) -> tuple[float, Any, dict[str, Any]]:
        """The return so far, the observation and the info. Where the engine fails at that, the match breaks off."""
        episode, setting, seat = self._episode or self.episode, self._setting, self.seat
        if episode.error is None:
            try:
                seen = setting.views.observe(episode, seat, setting.kind)
                return episode.return_of(seat), seen, setting.views.info(episode, seat, self._since)
            except EngineError as error:
                episode.break_off(error)
            except GymposiumError:
                raise  # it says itself what to do
            except Exception as error:  # noqa: BLE001 - whatever an engine may raise
                episode.break_off(error)
        return self._paid, *setting.views.broken(seat, setting.kind)

    def mask(self) -> np.ndarray:
        """One int8 for each action, 1 where it is legal now."""
        return self._setting.views.mask(self.episode, self.seat)

    def render(self) -> str | None:
        """The seat's own view of the position: returned for `ansi`, printed for `human`."""
        return show(self._setting.views.drawn(self.episode, self.seat), self._setting.render_mode)
