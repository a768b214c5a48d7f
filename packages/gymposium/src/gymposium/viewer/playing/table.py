"""One match under way between a person in a browser and players: where it stands, and what moves it on.

The driver plays it, as an episode whose one seat is answered from outside. Players are asked in a thread of the match's
own, one at a time; whoever looks meanwhile gets the standing as it was left, which is replaced as a whole.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from gymposium.driver import EngineError, Guard, MatchJob, MatchResult
from gymposium.errors import GymposiumError
from gymposium.failures import FailurePolicy
from gymposium.players.protocol import Player, Reply
from gymposium.reading import READERS, read
from gymposium.table import OutsideSeat, Table, advance
from gymposium.viewer.playing.bench import Bench
from gymposium.viewer.playing.choice import Choice
from gymposium.viewer.playing.ended import Ended, ended
from gymposium.viewer.playing.seen import Seen, see
from gymposium.watchdog import Watchdog

WATCHDOG = 300.0
"""Seconds that an opponent has for an answer: a language model on a slow machine comes by with it."""

State = Literal["getting ready", "thinking", "yours", "over", "failed"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a match stands."""

    state: State
    turn: int = 0
    """How often the person was asked; a form says which time it answers."""
    seen: Seen | None = None
    """None until the match has begun."""
    mine: str | None = None
    """What the person moved last."""
    ended: Ended | None = None
    trouble: str = ""
    """Why it could not be played, where it failed."""

    @property
    def waits(self) -> bool:
        """Whether it will be another before long, without anybody's doing."""
        return self.state in ("getting ready", "thinking")


class BrowserTable:
    """A match under way, or one that has ended and is still looked at."""

    def __init__(self, choice: Choice, bench: Bench, keep: Callable[[MatchResult], str]) -> None:
        """`keep` records a match that has ended, and says why it could not; empty text where it could."""
        self.id = secrets.token_urlsafe(12)
        seats = choice.game.seats
        self.choice = choice.seated(secrets.randbelow(seats) if choice.seat is None else choice.seat)
        self.seat = self.choice.seat or 0
        self.game = choice.game
        self.rules = ""
        """As the person's seat reads them; empty until the match has begun."""
        self.standing = Standing("getting ready")
        self._bench, self._keep = bench, keep
        self._table: Table | None = None
        self._players: dict[str, Player] = {}
        self._watchdog, self._guard = Watchdog(WATCHDOG), Guard()
        self._before: tuple[Seen | None, int] = None, 0
        """What the person saw at the last decision, and how many events there had been."""
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self.left = False
        """Whether it was given up."""
        self._work(self._begin)

    def who(self, seat: int) -> str | None:
        """The player of a seat, as it was written; None for the person."""
        others = self.choice.opponents
        return None if seat == self.seat else others[seat - (seat > self.seat)]

    def play(self, turn: int, text: str) -> str:
        """The person's answer to that ask: a move as it is listed, or free text. Why it is not played, or empty text
        where it is; a typing error costs nothing."""
        with self._lock:
            now, seen = self.standing, self.standing.seen
            if now.state != "yours" or seen is None or turn != now.turn:
                return "That was for an earlier position. This is how it stands now."
            reading = read(text, seen.legal, READERS["move"], self.game.move_pattern)
            if reading.kind != "move":
                return f"{text.strip()!r} is not a legal move here." if text.strip() else "Write a move first."
            self._settled.clear()
            self.standing = replace(now, state="thinking", mine=reading.move)
        self._work(lambda: self._answer(text))
        return ""

    def wait(self, seconds: float) -> None:
        """Until it is the person's turn or the end, but no longer than that."""
        self._settled.wait(seconds)

    def leave(self) -> None:
        """Nobody looks at it any more. A match that was not over has no record."""
        with self._lock:
            self.left = True
            if not self.standing.waits:
                self._give_back()

    # -- in the match's own thread

    def _work(self, step: Callable[[], Standing]) -> None:
        # a daemon, which nobody waits for when the program ends
        threading.Thread(target=self._settle, args=(step,), name=f"match {self.id}", daemon=True).start()

    def _settle(self, step: Callable[[], Standing]) -> None:
        try:
            standing = step()
        except GymposiumError as error:
            standing = self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - whatever a stranger's player may raise as it is made
            standing = self._failed(f"{type(error).__name__}: {error}")
        with self._lock:
            self.standing = standing
            if self.left or standing.state in ("over", "failed"):
                self._give_back()
        self._settled.set()

    def _begin(self) -> Standing:
        self._players = self._bench.take(self.choice.opponents)
        person = OutsideSeat(READERS["move"], "full", "human")
        lineup = [person if text is None else self._players[text] for text in map(self.who, range(self.game.seats))]
        seed = secrets.randbits(48) if self.choice.seed is None else self.choice.seed
        policy = FailurePolicy.parse(self.choice.on_illegal)
        self.rules = self.game.rules(self.seat)
        job = MatchJob(f"play-{secrets.token_hex(6)}", self.game, lineup, seed, on_illegal=policy)
        self._table = Table.of_job(job)
        return self._go_on(self._table)

    def _answer(self, text: str) -> Standing:
        table = self._table
        assert table is not None
        table.give({self.seat: Reply(text)})
        return self._go_on(table)

    def _go_on(self, table: Table) -> Standing:
        if table.due and (seen := self._look(table)) is not None:  # how it stands while others think
            self.standing = replace(self.standing, state="thinking", seen=seen)
        now = self.standing
        advance([table], self._watchdog, self._guard)
        if table.over or (seen := self._look(table)) is None:
            return self._end(table)
        self._before = seen, len(table.match.events)
        return Standing("yours", now.turn + 1, seen, now.mine)

    def _end(self, table: Table) -> Standing:
        played, now = table.played, self.standing
        assert played is not None
        trouble = self._keep(played)
        told = ended(played, self.seat, None if trouble else played.job.id, *filter(None, [trouble]))
        seen = self._look(table) if not played.ending.broke_off else None
        return Standing("over", now.turn, seen or now.seen, now.mine, told)

    def _look(self, table: Table) -> Seen | None:
        """What the person sees; None if the game's engine fails at it, which breaks the match off."""
        try:
            ask = table.asks.get(self.seat)
            return see(table.match, self.seat, () if ask is None else ask.legal_moves, *self._before)
        except Exception as error:
            if isinstance(error, GymposiumError) and not isinstance(error, EngineError):
                raise  # it says itself what to do
            table.break_off(error)
            return None

    def _failed(self, why: str) -> Standing:
        return replace(self.standing, state="failed", trouble=why)

    def _give_back(self) -> None:
        table, players = self._table, self._players
        self._players = {}
        played = None if table is None else table.played
        failures = () if played is None else played.ending.failures
        # a player that did not answer in time may still be at it
        if players and not any(failure.kind == "timed out" for failure in failures):
            self._bench.give_back(players)
