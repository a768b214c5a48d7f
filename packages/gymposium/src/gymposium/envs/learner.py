"""One learner among opponents, as the single and the vector environment share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from gymposium.envs.options import SharedOptions, check_options, check_seat, show
from gymposium.envs.table import Table, new_match_id
from gymposium.envs.views import position
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.match import EngineError, MatchJob, MatchResult
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Player, Reply
from gymposium.util.streams import stream

KEYWORDS = ("opponent", "seat", "on_illegal", "reply", "prompt", "observation", "render_mode")


class LearnerOptions(SharedOptions):
    """The checked keywords of `gymnasium.make`: the shared ones, the opponents and the learner's seat.

    `keywords` are the names of all keywords, for the error about an unknown one."""

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

    def seat_for(self, seed: int, options: dict[str, Any] | None, others: Iterable[str] = ()) -> int:
        """The learner's seat in the match of this seed: from `options`, else from the keyword. `others` are the names
        of further allowed options. Raises `BadOption`."""
        check_options(options, ("seat", *others))
        seat = check_seat(options["seat"], self.game.seats) if options and "seat" in options else self._seat
        return int(stream(seed, "learner").random() * self.game.seats) if seat is None else seat

    def players(self, seat: int) -> list[Player]:
        """One player for each seat, with the learner in `seat`."""
        return [*self._opponents[:seat], self.outside, *self._opponents[seat:]]


class LearnerSeat:
    """The learner's seat in one match after another.

    `begin` sets up a match and `give` passes on a reply. After each of them the caller moves the table on, by its
    `go_on`, or by `gymposium.envs.table.advance` for many learners at once. Then `look` or `outcome` returns the
    learner's observation.
    """

    __slots__ = ("_options", "_paid", "_since", "_table", "over", "seat")

    def __init__(self, options: LearnerOptions) -> None:
        self._options = options
        self._table: Table | None = None
        self._paid = 0.0
        self._since: int | None = None
        self.seat = 0
        """The learner's seat in this match."""
        self.over = False
        """True once an outcome has reported the end of the match."""

    def begin(self, seed: int, seat: int, match_id: str | None = None) -> Table:
        """Sets up a new match. Without a `match_id` it gets one of its own."""
        options = self._options
        self.seat, self.over, self._paid, self._since = seat, False, 0.0, None
        self.close()
        self._table = None  # so that nothing can be stepped if the match cannot be made
        number = new_match_id("env") if match_id is None else match_id
        job = MatchJob(number, options.game, options.players(seat), seed, on_illegal=options.policy)
        self._table = Table.of_job(job)
        return self._table

    def close(self) -> None:
        """Release what an unfinished match holds. It can still be read."""
        if self._table is not None:
            self._table.close()

    @property
    def table(self) -> Table:
        """The table of the match. Raises `ResetNeeded` before the first one."""
        if self._table is None:
            raise ResetNeeded("There is no match: call reset() first.")
        return self._table

    @property
    def played(self) -> MatchResult | None:
        """The result of the match, also if it broke off; None until it is over."""
        return None if self._table is None else self._table.played

    def give(self, reply: Reply) -> Table:
        """Passes on the learner's reply, which has no effect if the match was over before the learner was asked.
        Raises `ResetNeeded` if an outcome has already reported the end, or if a player raised in this match."""
        if self.over:
            raise ResetNeeded("The match is over: call reset() before step().")
        table = self._table or self.table
        if table.played is None:
            if not table.asks:
                raise ResetNeeded("A player failed in this match, so it cannot go on: call reset() before step().")
            self._since = len(table.turns)
            table.give({self.seat: reply})
        return table

    def look(self) -> tuple[Any, dict[str, Any]]:
        """Returns the learner's observation and its info."""
        _, observation, info = self._see()
        return observation, info

    def outcome(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Returns the result of `gymnasium.Env.step`. A match that broke off is truncated and pays nothing more."""
        now, observation, info = self._see()
        reward, self._paid = now - self._paid, now
        table = self._table or self.table
        self.over = table.played is not None
        broken = table.error is not None
        return observation, reward, self.over and not broken, broken, info

    def _see(self) -> tuple[float, Any, dict[str, Any]]:
        """The return so far, the observation and the info. If the engine fails meanwhile, the match breaks off."""
        table, options, seat = self._table or self.table, self._options, self.seat
        if table.error is None:
            try:
                observation = options.views.observe(table, seat, options.kind)
                return table.return_of(seat), observation, options.views.info(table, seat, self._since)
            except EngineError as error:
                table.break_off(error)
            except GymposiumError:
                raise  # its message says what to do
            except Exception as error:  # noqa: BLE001 - an engine may raise anything
                table.break_off(error)
        return self._paid, *options.views.broken(seat, options.kind)

    def mask(self) -> np.ndarray:
        """The action mask, an int8 array: 1 for each legal action."""
        return self._options.views.mask(self.table, self.seat)

    def render(self) -> str | None:
        """Renders the seat's view of the position: returned for `ansi`, printed for `human`."""
        return show(position(self.table, self.seat), self._options.render_mode)
