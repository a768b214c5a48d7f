"""One episode as a match. Replies and the server's answers are events, and everything shown follows from them."""

from __future__ import annotations

import json
import math
import random
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from gymposium.errors import BadRecord, NoSampler, NotResumable, WorldFailure, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.tasks.one_seat import OneSeatMatch, get_first_event
from gymposium.tasks.running import start_coroutine
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable
from gymposium_openenv.actions import Actions, BadAction
from gymposium_openenv.connection import Address, Connection

MAX_TEXT = 20_000
"""Maximum number of characters in an observation. A longer observation is cut off with a note."""
_GREATEST_SEED = 2**31


class ServerGame(Protocol):
    """The game of a match, as the match uses it."""

    name: str
    utility_range: tuple[float, float]
    max_decisions: int
    record: tuple[Event, ...] | None

    @property
    def address(self) -> Address: ...

    @property
    def about(self) -> Mapping[str, Any]: ...

    @property
    def actions(self) -> Actions: ...

    def load(self, events: Sequence[Event], seed: int | None = None) -> OpenEnvMatch: ...


class OpenEnvMatch(OneSeatMatch):
    """A match that is one episode. Its events are the first observation, with the environment's description, and then
    each reply and its answer. Each new match has its own connection; a loaded match has none."""

    def __init__(self, game: ServerGame, seed: int | None, events: Sequence[Event] = ()) -> None:
        super().__init__(game)
        self._game, self.seed = game, seed
        self.events: list[Event] = []
        self._text, self._return, self._over = "", 0.0, False
        self._steps = self._invalid = 0
        self._connection: Connection | None = None
        self._closing: weakref.finalize[[Connection], OpenEnvMatch] | None = None
        if events:
            self._load(events)
        elif game.record is not None:
            self._add_answer(get_first_event(game.record))
        else:
            assert seed is not None, "a new match has a seed"
            about = dict(game.about)  # read here: in the loop of all worlds it would block other matches
            self._add_answer(start_coroutine(self._open_session(seed, about)).result())

    @property
    def is_over(self) -> bool:
        return self._over

    def observe(self, seat: int, style: Style = "full") -> Observation:
        return Observation(seat, self._text, None)

    def view(self, seat: int) -> str:
        return self._text

    def returns(self) -> tuple[float, ...]:
        return (self._return,)

    def report(self, seat: int) -> Mapping[str, float]:
        """Return the number of steps, and the number of replies that were not actions."""
        return {"steps": float(self._steps), "invalid_replies": float(self._invalid)}

    def begin_moves(self, moves: Mapping[int, str]) -> Future[tuple[Event, Event]]:
        if self._over or set(moves) != {0}:
            raise WrongSeat(moves, self.to_move())
        return start_coroutine(self._play_step(Event(0, moves[0])))

    def finish_moves(self, done: Future[tuple[Event, Event]]) -> None:
        move, answer = done.result()
        self.events.append(move)
        self._add_answer(answer)

    def fork(self, rng: random.Random) -> OpenEnvMatch:
        return self._game.load(self.events, self.seed)

    def resample(self, seat: int, rng: random.Random) -> OpenEnvMatch:
        raise NoSampler(
            f"{self._game.name}: search cannot guess what the server would answer. Use a player without search."
        )

    def close(self) -> None:
        """Close the session without waiting."""
        if self._closing is not None:
            self._closing()

    # -- the server

    async def _open_session(self, seed: int, about: Mapping[str, Any]) -> Event:
        self._connection = connection = await Connection.open(self._game.address)
        self._closing = weakref.finalize(self, _close_in_background, connection)
        self._closing.atexit = False
        shown = await connection.ask("reset", {"seed": seed % _GREATEST_SEED})
        return Event(CHANCE, self._make_answer(shown, steps=0, about=about))

    async def _play_step(self, move: Event) -> tuple[Event, Event]:
        """Return the reply and its answer, from the server or from the record."""
        if (record := self._game.record) is not None:
            number = len(self.events) + 1
            if number >= len(record):
                raise NotResumable(
                    f"{self._game.name}: a record cannot be continued, because the server would not answer it. Start a "
                    "new match."
                )
            return move, record[number]
        if self._connection is None:
            raise NotResumable(f"{self._game.name}: a loaded match cannot be continued. Start a new match.")
        steps = self._steps + 1
        try:
            shown = await self._connection.ask("step", self._game.actions.parse_reply(move.move))
        except BadAction as error:
            over = steps >= self._game.max_decisions
            refused = {"text": f"{error}\n{self._text}", "reward": 0.0, "over": over, "invalid": True}
            return move, Event(CHANCE, json.dumps(refused, ensure_ascii=False))
        return move, Event(CHANCE, self._make_answer(shown, steps=steps))

    def _make_answer(self, shown: Mapping[str, Any], *, steps: int, **more: Any) -> str:
        """Return an observation as an event. Raises `WorldFailure` if the match cannot continue from it."""
        reward = shown.get("reward")
        if not isinstance(reward, int | float | None) or not math.isfinite(reward or 0.0):
            raise WorldFailure(f"The server sent the reward {str(reward)[:80]!r}, which is not a number")
        over = bool(shown.get("done")) or steps >= self._game.max_decisions
        total, (least, most) = self._return + float(reward or 0.0), self._game.utility_range
        if over and not least - 1e-6 <= total <= most + 1e-6:
            raise WorldFailure(
                f"The rewards add up to {total:g}, outside {least:g} to {most:g}. Set min_return and "
                f"max_return in the game's parameters"
            )
        event = {
            "text": format_observation(shown["observation"]),
            "reward": float(reward or 0.0),
            "over": over,
            "invalid": False,
        }
        return json.dumps({**event, **more}, ensure_ascii=False, allow_nan=False)

    # -- events

    def _add_answer(self, event: Event) -> None:
        """Apply an event that is an answer. Raises `BadRecord` for any other event."""
        try:
            answer = parse_strict_json(event.move)
            text, reward, over, invalid = answer["text"], answer["reward"], answer["over"], answer["invalid"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadRecord(
                f"Event {len(self.events)} is not an answer from a server: {str(event.move)[:80]!r}."
            ) from error
        if event.seat != CHANCE or not isinstance(text, str) or type(reward) is not float:
            raise BadRecord(f"Event {len(self.events)} is not an answer from a server: {str(event.move)[:80]!r}.")
        self._text, self._return, self._over = text, self._return + reward, over is True
        self._steps += bool(self.events)
        self._invalid += invalid is True
        self.events.append(event)
        if self._over:
            self.close()

    def _load(self, events: Sequence[Event]) -> None:
        for number, event in enumerate(events):
            if number % 2 == 0:
                self._add_answer(Event(*event))
            elif event[0] != 0 or self._over or number + 1 == len(events):
                raise BadRecord(f"Event {number} ({event[1][:80]!r}) is by seat {event[0]}, which is not to move.")
            else:
                self.events.append(Event(*event))


def format_observation(observation: Mapping[str, Any]) -> str:
    """Return an observation as lines of text: its only field unchanged, or each field with its name."""
    fields = {name: value for name, value in observation.items() if name not in ("metadata", "done", "reward")}
    if len(fields) == 1 and isinstance(value := next(iter(fields.values())), str):
        text = value
    else:
        text = "\n".join(f"{name}: {_format_value(value)}" for name, value in fields.items())
    if not is_encodable(text):
        return "The environment sent something that is not text.\n"
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[cut off: the whole observation has {len(text):,} characters]"
    return text if text.endswith("\n") or not text else f"{text}\n"


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _close_in_background(connection: Connection) -> None:
    """Close a session without waiting."""
    start_coroutine(connection.close())
