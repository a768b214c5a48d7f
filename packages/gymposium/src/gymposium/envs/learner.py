"""A learner's seat among opponents, for both the single and the vector environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from gymposium.envs.options import SharedOptions, check_options, check_seat, render_views
from gymposium.envs.table import Table, make_match_id
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.match import EngineError, MatchJob
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Player, Reply
from gymposium.util.streams import stream

KEYWORDS = ("opponent", "seat", "on_illegal", "reply", "prompt", "observation", "render_mode")


class LearnerOptions(SharedOptions):
    """Validated keywords of `gymnasium.make`: the shared keywords, the opponents and the learner's seat.

    `keywords` are all allowed names, for the error about an unknown keyword."""

    def __init__(
        self,
        game: str | Game,
        keywords: Sequence[str] = KEYWORDS,
        /,
        *,
        opponent: str | Player | Sequence[str | Player] = "random",
        seat: int | str = 0,
        **shared: Any,
    ) -> None:
        super().__init__(game, keywords, **shared)
        self.observation_space = self.views.space(self.kind)
        self.action_space = self.views.action_space()
        self._seat = check_seat(seat, self.game.seats)
        self._opponents = make_opponents(opponent, self.game.seats - 1)

    def choose_seat(self, seed: int, options: dict[str, Any] | None, others: Iterable[str] = ()) -> int:
        """Return the learner's seat for the match with this seed, from `options` or else from the keyword.

        `others` are the names of further allowed options. Raises `BadOption` for any other option or an invalid
        seat."""
        check_options(options, ("seat", *others))
        seat = check_seat(options["seat"], self.game.seats) if options and "seat" in options else self._seat
        return int(stream(seed, "learner").random() * self.game.seats) if seat is None else seat

    def players(self, seat: int) -> list[Player]:
        """Return one player per seat, with the learner in `seat`."""
        return [*self._opponents[:seat], self.outside, *self._opponents[seat:]]


class LearnerTable(Table):
    """The table of one match with a learner in `seat` and opponents in all other seats.

    `step` takes the learner's reply. After `open` or `step`, the caller calls `advance`, or
    `gymposium.envs.table.advance_tables` for many tables at once. Then `observe` or `outcome` returns the learner's
    observation.
    """

    __slots__ = ("_options", "_paid", "_since", "needs_reset", "seat")

    @classmethod
    def open(cls, options: LearnerOptions, seed: int, seat: int, match_id: str | None = None) -> LearnerTable:
        """Set up a match with a learner in `seat`. Without a `match_id`, a new one is created."""
        number = make_match_id("env") if match_id is None else match_id
        job = MatchJob(number, options.game, options.players(seat), seed, on_illegal=options.policy)
        table = cls.from_job(job)
        table._options, table.seat, table._paid, table._since = options, seat, 0.0, None
        table.needs_reset = False
        return table

    def _open(self, job: MatchJob) -> None:
        self._options: LearnerOptions
        self.seat: int
        """The learner's seat."""
        self.needs_reset: bool
        """True once `outcome` has reported the end of the episode."""
        self._paid: float
        self._since: int | None
        super()._open(job)

    def step(self, reply: Reply) -> None:
        """Submit the learner's reply.

        It has no effect if the match was over before the learner was asked. Raises `ResetNeeded` if the end was already
        reported, or if a player raised an exception in this match."""
        if self.needs_reset:
            raise ResetNeeded("The match is over. Call reset() before step().")
        if self.played is None:
            if not self.asks:
                raise ResetNeeded("A player failed in this match, so it cannot continue. Call reset() before step().")
            self._since = len(self.turns)
            self.submit({self.seat: reply})

    def observe(self) -> tuple[Any, dict[str, Any]]:
        """Return the learner's observation and info. If the engine fails, the match breaks off."""
        options, seat = self._options, self.seat
        if self.error is None:
            try:
                return options.views.observe(self, seat, options.kind), options.views.info(self, seat, self._since)
            except Exception as error:  # noqa: BLE001 - an engine may raise anything
                self._break_off_or_raise(error)
        return options.views.broken(seat, options.kind)

    def outcome(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return the result of `gymnasium.Env.step`. A match that broke off is truncated and gives no further
        reward."""
        observation, info = self.observe()
        if self.error is None:
            try:
                reward = self._collect_reward()
            except Exception as error:  # noqa: BLE001 - an engine may raise anything
                self._break_off_or_raise(error)
                observation, info = self.observe()
            else:
                self.needs_reset = self.played is not None
                return observation, reward, self.needs_reset, False, info
        self.needs_reset = True
        return observation, 0.0, False, True, info

    def _collect_reward(self) -> float:
        """Return the change of the learner's return since the last call."""
        now = self.get_return(self.seat)
        reward, self._paid = now - self._paid, now
        return reward

    def _break_off_or_raise(self, error: Exception) -> None:
        """Break off the match because of an engine error, or raise an error that says what to do."""
        if isinstance(error, GymposiumError) and not isinstance(error, EngineError):
            raise error
        self.break_off(error)

    def mask(self) -> np.ndarray:
        """Return the action mask, an int8 array: 1 for each legal action."""
        return self._options.views.mask(self, self.seat)

    def render(self) -> str | np.ndarray | None:
        """Render the seat's view of the position, as in `render_views`."""
        return render_views(self, {"learner": self.seat}, self._options.render_mode)

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: getattr(self, name) for name in LearnerTable.__slots__}
        return *super().__reduce__(), (None, fields)
