"""One match between a person in a browser and players.

It is played at a `gymposium.Table` with one seat outside. The players are asked in a thread of the match's own, one
after the other; requests that come meanwhile get the last state, which is replaced as a whole.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from gymposium.driver import EngineError, Guard, MatchJob, MatchResult
from gymposium.errors import GymposiumError, describe
from gymposium.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player, Reply
from gymposium.reading import READERS, read
from gymposium.table import OutsideSeat, Table, advance
from gymposium.viewer.playing.choice import Choice
from gymposium.viewer.playing.state import MatchEnd, SeatView, TableState, view_for_seat
from gymposium.watchdog import Watchdog

WATCHDOG = 300.0
"""Seconds that an opponent has for an answer: enough for a language model on a slow machine."""
MOST_WAITING = 4
"""Number of players that wait for a match, whatever their names."""


class SparePlayers:
    """The players that wait for a match, so that a model that was loaded is not loaded again for the next one.

    Matches run in threads of their own, and a player need not allow calls from two of them. So it plays in one match at
    a time; another match against the same opponent gets another player."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, Player]] = []

    def take(self, texts: Sequence[str]) -> dict[str, Player]:
        """A player for each different text. Raises as `make_player` does."""
        return {text: self._waiting_for(text) or make_player(text) for text in dict.fromkeys(texts)}

    def give_back(self, players: dict[str, Player]) -> None:
        """Lets these players play again. If too many wait, those that have waited longest are dropped."""
        with self._lock:
            self._waiting = [*self._waiting, *players.items()][-MOST_WAITING:]

    def _waiting_for(self, text: str) -> Player | None:
        with self._lock:
            for place, (name, player) in enumerate(self._waiting):
                if name == text:
                    del self._waiting[place]
                    return player
        return None


class BrowserTable:
    """A match in the browser that goes on, or that has ended and can still be looked at."""

    def __init__(self, choice: Choice, pool: SparePlayers, keep: Callable[[MatchResult], str]) -> None:
        """`keep` records a match that has ended. It returns why it could not, or an empty text."""
        self.id = secrets.token_urlsafe(12)
        seats = choice.game.seats
        self.choice = choice.seated(secrets.randbelow(seats) if choice.seat is None else choice.seat)
        self.seat = self.choice.seat or 0
        self.game = choice.game
        self.rules = ""
        """The rules as the person's seat reads them; empty until the match has begun."""
        self.state = TableState("getting ready")
        self._pool, self._keep = pool, keep
        self._table: Table | None = None
        self._players: dict[str, Player] = {}
        self._watchdog, self._guard = Watchdog(WATCHDOG), Guard()
        self._before: tuple[SeatView | None, int] = None, 0
        """The person's view at the last decision, and the number of events by then."""
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self.left = False
        """True if the person has given the match up."""
        self._work(self._begin)

    def who(self, seat: int) -> str | None:
        """The player of a seat, as it was written; None for the person."""
        others = self.choice.opponents
        return None if seat == self.seat else others[seat - (seat > self.seat)]

    def play(self, turn: int, text: str) -> str:
        """Plays the person's answer to the ask of that number: a listed move, or free text. Returns why it is not
        played, or an empty text; a typing error costs nothing."""
        with self._lock:
            now, view = self.state, self.state.view
            if now.phase != "yours" or view is None or turn != now.turn:
                return "That was for an earlier position. This is how it stands now."
            reading = read(text, view.legal, READERS["move"], self.game.move_pattern)
            if reading.kind != "move":
                return f"{text.strip()!r} is not a legal move here." if text.strip() else "Write a move first."
            self._settled.clear()
            self.state = replace(now, phase="thinking", mine=reading.move)
        self._work(lambda: self._answer(text))
        return ""

    def wait(self, seconds: float) -> None:
        """Waits until it is the person's turn or the end, but no longer than `seconds`."""
        self._settled.wait(seconds)

    def leave(self) -> None:
        """Gives the match up. A match that was not over has no record."""
        with self._lock:
            self.left = True
            if not self.state.waits:
                self._give_back()

    # -- in the match's own thread

    def _work(self, step: Callable[[], TableState]) -> None:
        # a daemon thread does not keep the program from ending
        threading.Thread(target=self._settle, args=(step,), name=f"match {self.id}", daemon=True).start()

    def _settle(self, step: Callable[[], TableState]) -> None:
        try:
            state = step()
        except Exception as error:  # noqa: BLE001 - a third-party player may raise anything as it is made
            state = replace(self.state, phase="failed", trouble=describe(error))
        with self._lock:
            self.state = state
            if self.left or state.settled:
                self._give_back()
        self._settled.set()

    def _begin(self) -> TableState:
        self._players = self._pool.take(self.choice.opponents)
        person = OutsideSeat(READERS["move"], "full", "human")
        players = [person if text is None else self._players[text] for text in map(self.who, range(self.game.seats))]
        seed = secrets.randbits(48) if self.choice.seed is None else self.choice.seed
        policy = FailurePolicy.parse(self.choice.on_illegal)
        self.rules = self.game.rules(self.seat)
        self._table = Table.of_job(
            MatchJob(f"play-{secrets.token_hex(6)}", self.game, players, seed, on_illegal=policy)
        )
        return self._go_on(self._table)

    def _answer(self, text: str) -> TableState:
        table = self._table
        assert table is not None
        table.give({self.seat: Reply(text)})
        return self._go_on(table)

    def _go_on(self, table: Table) -> TableState:
        if table.due and (view := self._look(table)) is not None:  # what is shown while the others think
            self.state = replace(self.state, phase="thinking", view=view)
        now = self.state
        advance([table], self._watchdog, self._guard)
        if table.over or (view := self._look(table)) is None:
            return self._end(table)
        self._before = view, len(table.match.events)
        return TableState("yours", now.turn + 1, view, now.mine)

    def _end(self, table: Table) -> TableState:
        played, now = table.played, self.state
        assert played is not None
        end = MatchEnd.of(played, self.seat, self._keep(played))
        view = self._look(table) if not played.ending.broke_off else None
        return TableState("over", now.turn, view or now.view, now.mine, end)

    def _look(self, table: Table) -> SeatView | None:
        """The person's view; None if the game's engine fails at it, which breaks the match off."""
        try:
            ask = table.asks.get(self.seat)
            return view_for_seat(table.match, self.seat, () if ask is None else ask.legal_moves, *self._before)
        except Exception as error:
            if isinstance(error, GymposiumError) and not isinstance(error, EngineError):
                raise  # it tells the user what to do
            table.break_off(error)
            return None

    def _give_back(self) -> None:
        table, players = self._table, self._players
        self._players = {}
        played = None if table is None else table.played
        failures = () if played is None else played.ending.failures
        # a player that did not answer in time may still be at it
        if players and not any(failure.kind == "timed out" for failure in failures):
            self._pool.give_back(players)
