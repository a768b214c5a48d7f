"""Protocols of games and matches, on which environments, players, records and training rely.

A `Game` is an immutable set of rules with fixed parameters. It makes matches. A `Match` is one play of a game; it
starts from a seed and draws its own chance. Its list of events defines it completely: replaying needs no generator.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np

    from gymposium.games.pictures import Picture
    from gymposium.plugins.specs import GameSpec

CHANCE = -1
"""Seat of chance events."""

Style = Literal["full", "compact"]
"""How much a prompt explains: `full` for readers new to the game, `compact` for readers who know it."""


class Event(NamedTuple):
    """One event of a match: a seat's move, or a chance outcome (`seat == CHANCE`)."""

    seat: int
    move: str


class ToolText(NamedTuple):
    """What a tool returned, as its caller reads it."""

    tool: str
    text: str


@dataclass(slots=True)  # not frozen, because that triples the cost of making one, once for each decision
class Observation:
    """What one seat may know now. `legal_moves` is None in games of free text."""

    seat: int
    text: str
    legal_moves: list[str] | None
    results: Sequence[ToolText] = ()
    """What each tool returned that the seat's last move called; `text` has them all. () if none was called."""


class Match(Protocol):
    """One play of a game, made by `Game.new` or `Game.load`.

    Only `apply` changes it. With simultaneous moves, two players may read it from two threads at the same time (the
    schedule `streaming`), so a match must store cached values by a single assignment."""

    events: list[Event]
    """All events so far, in order. Simultaneous moves are in order of seat."""

    @property
    def game(self) -> Game: ...

    @property
    def seed(self) -> int | None:
        """Seed from which chance is drawn; None if the match was loaded or forked without one."""
        ...

    def to_move(self) -> tuple[int, ...]:
        """Return the seats that must move now: several for simultaneous moves, () at the end."""
        ...

    def legal_moves(self, seat: int) -> list[str] | None:
        """Return the seat's legal moves in the order of `legal_actions`, or None in games of free text."""
        ...

    def legal_actions(self, seat: int) -> list[int]:
        """Return the indices of the legal moves in the action space, ascending; [] in games of free text."""
        ...

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the position in words, as this seat may see it."""
        ...

    def view(self, seat: int) -> str:
        """Return a key of what the seat knows, which is cheap to compute and not made from `observe`.

        Equal keys mean that the seat cannot tell the positions apart. Search and the leak check rely on it."""
        ...

    def tensor(self, seat: int) -> np.ndarray:
        """Return the seat's view as a float32 array of shape `game.tensor_shape`."""
        ...

    def apply(self, moves: Mapping[int, str]) -> None:
        """Play one move for each seat of `to_move()`, and draw the chance that follows.

        Raises `IllegalMove` or `WrongSeat`, and then leaves the match unchanged."""
        ...

    def returns(self) -> tuple[float, ...]:
        """Return the sum of rewards so far for each seat."""
        ...

    def fork(self, rng: random.Random) -> Match:
        """Return a copy at the same position that draws later chance from `rng`."""
        ...

    def resample(self, seat: int, rng: random.Random) -> Match:
        """Return another world that this seat cannot tell from this one.

        Raises `NoSampler` if the game has no such sampler."""
        ...


@runtime_checkable
class Waits(Protocol):
    """Optional protocol: a match whose moves take time, such as calls of tools. The driver plays other matches in the
    meantime. `apply` of such a match waits."""

    def begin_moves(self, moves: Mapping[int, str]) -> Future[Any]:
        """Begin what one move for each seat of `to_move()` leads to. The match stays as it is until `finish_moves`.

        Raises `IllegalMove` or `WrongSeat`."""
        ...

    def finish_moves(self, done: Future[Any]) -> None:
        """Play the moves of `begin_moves`, whose future is done. Raises `WorldBroke` if what they led to failed."""
        ...


class Bounded(Protocol):
    """Optional protocol: a game of which few matches can be open at the same time, such as one with a server for each
    match. The driver holds the other matches back."""

    @property
    def at_once(self) -> int | None:
        """The number of matches that may be open at the same time in a process, 1 or more; None for any number."""
        ...


class Closes(Protocol):
    """Optional protocol: a match that holds something outside this process, such as a server."""

    def close(self) -> None:
        """Release it, without waiting, because nobody plays on. The driver calls this at the end of each match, which
        may be a forfeit; further calls do nothing. The match can still be read."""
        ...


@runtime_checkable
class Recorded(Protocol):
    """Optional protocol: a game whose matches ask something else than the game, such as tools."""

    @property
    def pure(self) -> bool:
        """True if seed and moves decide what is answered, so that a replay asks again. False if it may be answered
        otherwise another time, as by a server; a replay then takes the recorded answers."""
        ...

    def recorded(self, events: Sequence[Event]) -> Game:
        """Return this game with matches that take what these events record, and ask nothing else."""
        ...


@runtime_checkable
class Reports(Protocol):
    """Optional protocol: a match that reports figures for each seat besides its return, which are recorded."""

    def report(self, seat: int) -> Mapping[str, float]:
        """Return figures by name at the end of the match: `{"exact": 0.0, "ignoring_white_space": 1.0}`."""
        ...


@runtime_checkable
class Draws(Protocol):
    """Optional protocol: a match that draws its position for people in a browser. Players never see the picture."""

    def picture(self, seat: int) -> Picture | None:
        """Return the position as this seat may see it as a picture, or None if there is none.

        Its HTML is shown in a frame of the picture's size, which it should fill (an `<svg>` with a `viewBox` does), in
        light and dark colours (`prefers-color-scheme`). It may have styles; scripts do not run and nothing is loaded.
        `gymposium.games.pictures` draws boards, cards, dice and tables.

        It may also show what the seat saw earlier, such as the last move, which `observe` and `view` need not tell."""
        ...


@runtime_checkable
class Notates(Protocol):
    """Optional protocol: a game whose moves people write otherwise than players do, as in chess. Pages show it."""

    def notation(self, events: Sequence[Event]) -> list[str]:
        """Return how people write each of the events of a match from its beginning: `["e4", "e5", "Nf3"]`."""
        ...


class Game(Protocol):
    """Rules with fixed parameters."""

    def __hash__(self) -> int: ...

    @property
    def spec(self) -> GameSpec: ...

    @property
    def params(self) -> Mapping[str, Any]: ...

    @property
    def name(self) -> str:
        """Name in OpenSpiel's form, with the parameters that differ from the defaults: `goofspiel(num_cards=8)`."""
        ...

    @property
    def seats(self) -> int: ...

    @property
    def utility_range(self) -> tuple[float, float]:
        """Least and greatest return that a seat can have at the end."""
        ...

    @property
    def max_decisions(self) -> int:
        """Upper bound on the decisions of a match."""
        ...

    @property
    def num_actions(self) -> int:
        """Size of the action space; 0 in games of free text."""
        ...

    @property
    def tensor_shape(self) -> tuple[int, ...] | None: ...

    @property
    def move_pattern(self) -> re.Pattern[str] | None:
        """Pattern of everything that could be a move in some position; distinguishes *illegal* from *unparsable*."""
        ...

    def rules(self, seat: int, style: Style = "full") -> str:
        """Return what does not change during a match: the rules and which seat this is."""
        ...

    def new(self, seed: int) -> Match:
        """Start a match. Equal seeds and equal moves give equal matches."""
        ...

    def load(self, events: Sequence[Event], seed: int | None = None) -> Match:
        """Return the match that these events lead to. With its seed it continues as the original would."""
        ...


def as_recorded(game: Game, events: Sequence[Event]) -> Game:
    """The game whose matches take what these events record and ask nothing else; the game itself if its matches never
    ask."""
    recorded = getattr(game, "recorded", None)
    return game if recorded is None else cast(Game, recorded(events))


def seat_result(returns: Sequence[float], seat: int, forfeit: int | None = None) -> str:
    """Return `win`, `draw` or `loss` of a seat against the best other seat, or `score` in games for one seat.

    The seat `forfeit` loses to all others, whatever the returns."""
    if len(returns) == 1:
        return "score"
    if seat == forfeit:
        return "loss"
    best = max((r for s, r in enumerate(returns) if s != seat and s != forfeit), default=-math.inf)
    mine = returns[seat]
    return "win" if mine > best else "draw" if mine == best else "loss"
