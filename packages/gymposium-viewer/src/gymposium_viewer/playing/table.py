"""A match between a person in a browser and players.

It is played at a `gymposium.Table` with one outside seat. Each match asks its players in a separate thread. In the
meantime, requests are answered with the last state, which is replaced as a whole.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from gymposium.envs.table import OutsideSeat, Table, advance_tables
from gymposium.errors import GymposiumError, describe_error
from gymposium.match import EngineError, Guard, MatchJob, MatchResult
from gymposium.match.failures import FailurePolicy
from gymposium.match.watchdog import Watchdog
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player, Reply
from gymposium.replies.reading import READERS, read_reply
from gymposium.tasks.tools import NO_CALL, list_tools
from gymposium_viewer.playing.choice import MatchChoice
from gymposium_viewer.playing.state import MatchEnd, SeatView, TableState, make_seat_view

TIME_LIMIT = 300.0
"""Time limit in seconds for an opponent's answer. It is long enough for a language model on a slow machine."""
MAX_SPARE = 4
"""Maximum number of players kept for later matches."""


class PlayerPool:
    """A pool of players for later matches, which saves loading a model again.

    Players need not be thread-safe, and each match runs in a separate thread. So a player takes part in one match at a
    time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spare: list[tuple[str, Player]] = []

    def take(self, texts: Sequence[str]) -> dict[str, Player]:
        """Return a spare or new player for each name. Raises the errors of `make_player`."""
        return {text: self._take_spare(text) or make_player(text) for text in dict.fromkeys(texts)}

    def put(self, players: dict[str, Player]) -> None:
        """Return players to the pool. If it is full, drop its oldest players."""
        with self._lock:
            self._spare = [*self._spare, *players.items()][-MAX_SPARE:]

    def _take_spare(self, text: str) -> Player | None:
        with self._lock:
            for place, (name, player) in enumerate(self._spare):
                if name == text:
                    del self._spare[place]
                    return player
        return None


class BrowserTable:
    """A match in the browser, in progress or finished."""

    def __init__(self, choice: MatchChoice, pool: PlayerPool, keep: Callable[[MatchResult], str]) -> None:
        """`keep` records the finished match. It returns an error message, or "" on success."""
        self.id = secrets.token_urlsafe(12)
        self.game = choice.game
        self.seat = secrets.randbelow(self.game.seats) if choice.seat is None else choice.seat
        self.choice = replace(choice, seat=self.seat)
        self.rules = ""
        """The rules for the person's seat; empty before the match begins."""
        self.state = TableState("getting ready")
        self._pool, self._keep = pool, keep
        self._table: Table | None = None
        self._players: dict[str, Player] = {}
        self._watchdog, self._guard = Watchdog(TIME_LIMIT), Guard()
        self._last_view: tuple[SeatView | None, int] = None, 0
        """The person's view at the last decision, and the number of events until then."""
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self.is_abandoned = False
        """True if the person has given up the match."""
        self._run_in_thread(self._begin)

    def player_name(self, seat: int) -> str | None:
        """Return the name of a seat's player, as written in the form; None for the person."""
        others = self.choice.opponents
        return None if seat == self.seat else others[seat - (seat > self.seat)]

    def play(self, turn: int, text: str) -> str:
        """Play the person's answer to decision number `turn`: a listed move, or free text.

        If the answer is invalid, returns why it was not played, otherwise "". Typos are not penalized."""
        with self._lock:
            now, view = self.state, self.state.view
            if now.phase != "yours" or view is None or turn != now.turn:
                return "That answer was for an earlier position. This is the current one."
            calls = bool(list_tools(self.game))
            reading = read_reply(text, view.legal, READERS["move"], self.game.move_pattern, calls=calls)
            if reading.kind != "move":
                if calls:
                    return NO_CALL
                return f"{text.strip()!r} is not a legal move here." if text.strip() else "Enter a move first."
            self._settled.clear()
            self.state = replace(now, phase="thinking", last_move=reading.move)
        self._run_in_thread(lambda: self._answer(text))
        return ""

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for the person's turn or the end of the match."""
        self._settled.wait(seconds)

    def leave(self) -> None:
        """Abandon the match. It is recorded only if it has already ended."""
        with self._lock:
            self.is_abandoned = True
            if not self.state.is_waiting:
                self._return_players()

    # -- in the match's thread

    def _run_in_thread(self, step: Callable[[], TableState]) -> None:
        # a daemon thread does not keep the process alive
        threading.Thread(target=self._run_step, args=(step,), name=f"match {self.id}", daemon=True).start()

    def _run_step(self, step: Callable[[], TableState]) -> None:
        try:
            state = step()
        except Exception as error:  # noqa: BLE001 - making a third-party player may raise anything
            state = replace(self.state, phase="failed", error=describe_error(error))
        with self._lock:
            self.state = state
            if self.is_abandoned or state.is_settled:
                self._return_players()
        self._settled.set()

    def _begin(self) -> TableState:
        self._players = self._pool.take(self.choice.opponents)
        person = OutsideSeat(READERS["move"], "full", "human")
        players = [
            person if text is None else self._players[text] for text in map(self.player_name, range(self.game.seats))
        ]
        seed = secrets.randbits(48) if self.choice.seed is None else self.choice.seed
        policy = FailurePolicy.parse(self.choice.on_illegal)
        self.rules = self.game.rules(self.seat)
        self._table = Table.from_job(
            MatchJob(f"play-{secrets.token_hex(6)}", self.game, players, seed, on_illegal=policy)
        )
        return self._advance(self._table)

    def _answer(self, text: str) -> TableState:
        table = self._table
        assert table is not None
        table.submit({self.seat: Reply(text)})
        return self._advance(table)

    def _advance(self, table: Table) -> TableState:
        if table.due and (view := self._make_view(table)) is not None:  # shown while the opponents think
            self.state = replace(self.state, phase="thinking", view=view)
        now = self.state
        advance_tables([table], self._watchdog, self._guard)
        if table.over or (view := self._make_view(table)) is None:
            return self._end(table)
        self._last_view = view, len(table.match.events)
        return TableState("yours", now.turn + 1, view, now.last_move, (*now.past_views, view))

    def _end(self, table: Table) -> TableState:
        played, now = table.played, self.state
        assert played is not None
        end = MatchEnd.from_match(played, self.seat, self._keep(played))
        view = self._make_view(table) if not played.ending.broke_off else None
        return TableState("over", now.turn, view or now.view, now.last_move, now.past_views, end)

    def _make_view(self, table: Table) -> SeatView | None:
        """Return the person's view. If the game's engine fails, break off the match and return None."""
        try:
            ask = table.asks.get(self.seat)
            return make_seat_view(table.match, self.seat, () if ask is None else ask.legal_moves, *self._last_view)
        except Exception as error:
            if isinstance(error, GymposiumError) and not isinstance(error, EngineError):
                raise  # the message says what to do
            table.break_off(error)
            return None

    def _return_players(self) -> None:
        table, players = self._table, self._players
        self._players = {}
        failures = () if table is None or table.played is None else table.played.ending.failures
        # a player that timed out may still be running
        if players and not any(failure.kind == "timed out" for failure in failures):
            self._pool.put(players)
