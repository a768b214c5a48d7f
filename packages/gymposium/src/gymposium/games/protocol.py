"""What a game is: the protocol that a game author writes and everything else relies on.

A `Game` is rules with fixed parameters, immutable; it makes matches. A `Match` is one play, begun from
a seed, with chance drawn inside it. The list of events is the match: replaying it needs no generator.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from gymposium.plugins.specs import GameSpec

CHANCE = -1
"""The seat that chance events carry in a record."""

Style = Literal["full", "compact"]
"""How much a prompt explains: `full` for a reader who meets the game, `compact` for one who knows it."""


class Event(NamedTuple):
    """One thing that happened in a match: a seat's move, or a chance outcome (`seat == CHANCE`)."""

    seat: int
    move: str


@dataclass(slots=True)  # not frozen: a frozen one costs three times as much, once per decision
class Observation:
    """What one seat may know now. `legal_moves` is None for games that take free text."""

    seat: int
    text: str
    legal_moves: list[str] | None


class Match(Protocol):
    """One play of a game. Made by `Game.new` or `Game.load`.

    Only `apply` changes it. Where moves are simultaneous, two players may look at it from two threads at the same time
    (the schedule `streaming`): what a match keeps so as not to work it out again is kept by one assignment."""

    events: list[Event]
    """Everything that happened, in order. Simultaneous moves stand in order of seat."""

    @property
    def game(self) -> Game: ...

    @property
    def seed(self) -> int | None:
        """The seed that chance is drawn from; None where it was loaded or forked without one."""
        ...

    def to_move(self) -> tuple[int, ...]:
        """The seats that must move now; several where moves are simultaneous, () when it is over."""
        ...

    def legal_moves(self, seat: int) -> list[str] | None:
        """The seat's legal moves, in the order of `legal_actions`; None for free text."""
        ...

    def legal_actions(self, seat: int) -> list[int]:
        """Indices of the legal moves in the game's action space, ascending; [] for free text."""
        ...

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """The position in words, as this seat may see it."""
        ...

    def view(self, seat: int) -> str:
        """A cheap key of what the seat knows, from the engine (never from our own text): equal keys
        mean that the seat cannot tell the positions apart. Search and the leak check rest on it."""
        ...

    def tensor(self, seat: int) -> np.ndarray:
        """The seat's view as float32, shape `game.tensor_shape`."""
        ...

    def apply(self, moves: Mapping[int, str]) -> None:
        """Play one move for each seat of `to_move()`; chance that follows is drawn at once.

        Raises `IllegalMove` or `WrongSeat` and then leaves the match as it was."""
        ...

    def returns(self) -> tuple[float, ...]:
        """Sum of rewards so far, one per seat."""
        ...

    def fork(self, rng: random.Random) -> Match:
        """The same position; later chance comes from `rng`."""
        ...

    def resample(self, seat: int, rng: random.Random) -> Match:
        """Another world that this seat cannot tell from this one. Raises `NoSampler` where the game
        has no such sampler."""
        ...


@runtime_checkable
class Reports(Protocol):
    """What a match may add: more to say of how a seat did than its return. Recorded, and told at the end."""

    def report(self, seat: int) -> Mapping[str, float]:
        """Figures by name, asked once the match is over: `{"exact": 0.0, "ignoring_white_space": 1.0}`."""
        ...


@runtime_checkable
class Draws(Protocol):
    """What a match may add: a picture of the position, for people who look at it in a browser. No player gets it."""

    def render_html(self, seat: int) -> str | None:
        """The position as this seat may see it, as a piece of HTML, or None where there is no picture. It stands in a
        square frame of its own, which it should fill (an `<svg>` with a `viewBox` does), in light and in dark colours
        (`prefers-color-scheme`). It can hold styles; scripts do not run and nothing is loaded.
        `gymposium.games.pictures` draws boards."""
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
        """OpenSpiel's string form with the parameters that differ from the defaults: `goofspiel(num_cards=8)`."""
        ...

    @property
    def seats(self) -> int: ...

    @property
    def utility_range(self) -> tuple[float, float]:
        """Least and greatest return that a seat can end with."""
        ...

    @property
    def max_decisions(self) -> int:
        """No match has more decisions than this."""
        ...

    @property
    def num_actions(self) -> int:
        """Size of the action space; 0 for free text."""
        ...

    @property
    def tensor_shape(self) -> tuple[int, ...] | None: ...

    @property
    def move_pattern(self) -> re.Pattern[str] | None:
        """Matches whatever could be a move in some position; tells *illegal* from *unparsable*."""
        ...

    def rules(self, seat: int, style: Style = "full") -> str:
        """What does not change during a match: the rules and who this seat is."""
        ...

    def new(self, seed: int) -> Match:
        """Begin a match. Equal seeds and equal moves give equal matches."""
        ...

    def load(self, events: Sequence[Event], seed: int | None = None) -> Match:
        """The match that these events make. With its seed it can be played on as the original would be."""
        ...


def seat_result(returns: Sequence[float], seat: int, forfeit: int | None = None) -> str:
    """`win`, `draw` or `loss` of a seat against the best of the others; `score` where it plays alone. The seat
    `forfeit` has lost to all others, even where the match had paid them no more by then."""
    if len(returns) == 1:
        return "score"
    if seat == forfeit:
        return "loss"
    best = max((r for s, r in enumerate(returns) if s != seat and s != forfeit), default=-math.inf)
    mine = returns[seat]
    return "win" if mine > best else "draw" if mine == best else "loss"
