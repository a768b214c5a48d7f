"""Protocols of games and matches, used by environments, players, records and training.

A `Game` is an immutable set of rules with fixed parameters, and creates matches. A `Match` is one play of a game. It
starts from a seed and draws its own chance. Its list of events defines it completely, so a replay needs no random
numbers."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from gymposium.errors import BadOption

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np

    from gymposium.games.pictures import Picture
    from gymposium.plugins.specs import GameSpec

CHANCE = -1
"""The seat number of chance events."""

Style = Literal["full", "compact"]
"""How much a prompt explains: `full` for players new to the game, `compact` for players who know it."""


class Event(NamedTuple):
    """One event of a match: a seat's move, or a chance outcome (`seat == CHANCE`)."""

    seat: int
    move: str


class ToolText(NamedTuple):
    """A tool's result, as shown to the caller."""

    tool: str
    text: str


@dataclass(slots=True)  # not frozen: that would triple the cost of creating one, at every decision
class Observation:
    """What one seat may know in the current position. `legal_moves` is None in free-text games."""

    seat: int
    text: str
    legal_moves: list[str] | None
    results: Sequence[ToolText] = ()
    """Result of each tool that the seat's last move called, or (). `text` includes all results."""
    move_form: str = ""
    """What the legal moves look like, if they are too many to list: `four colors, like red red blue green`."""

    def describe_moves(self) -> str:
        """Return the legal moves as prompts show them: their form, or else the list."""
        return self.move_form or ", ".join(self.legal_moves or ())


class Match(Protocol):
    """One play of a game, made by `Game.new` or `Game.load`.

    Only `apply` changes it. With simultaneous moves and the schedule `streaming`, two threads may read a match at the
    same time. So store each cached value in a single assignment."""

    events: list[Event]
    """All events so far, in order. Simultaneous moves are ordered by seat."""

    @property
    def game(self) -> Game: ...

    @property
    def seed(self) -> int | None:
        """Seed for the match's chance; None if the match was loaded or forked without one."""

    def to_move(self) -> tuple[int, ...]:
        """Return the seats that must move now: several seats for simultaneous moves, () at the end."""

    def legal_moves(self, seat: int) -> list[str] | None:
        """Return the seat's legal moves in the order of `legal_actions`, or None in free-text games."""

    def legal_actions(self, seat: int) -> list[int]:
        """Return the legal moves as indices in the action space, ascending; [] in free-text games."""

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the position as text, showing only what this seat may see."""

    def view(self, seat: int) -> str:
        """Return a key for what the seat knows. It must be cheap to compute and independent of `observe`.

        Equal keys mean that the seat cannot distinguish the positions. Search and the leak check rely on this."""

    def tensor(self, seat: int) -> np.ndarray:
        """Return the seat's view as a float32 array of shape `game.tensor_shape`."""

    def apply(self, moves: Mapping[int, str]) -> None:
        """Play one move for each seat of `to_move()`, and draw the chance events that follow.

        If it raises `IllegalMove` or `WrongSeat`, the match is unchanged."""

    def returns(self) -> tuple[float, ...]:
        """Return each seat's total reward so far."""

    def fork(self, rng: random.Random) -> Match:
        """Return a copy at the same position that draws later chance from `rng`."""

    def resample(self, seat: int, rng: random.Random) -> Match:
        """Return another match that this seat cannot distinguish from this one, with hidden information redrawn.

        Raises `NoSampler` if the game has no sampler."""


@runtime_checkable
class AsyncMatch(Protocol):
    """Optional protocol: a match whose moves take time, such as tool calls.

    The driver plays other matches in the meantime.

    `apply` waits until the moves are done."""

    def begin_moves(self, moves: Mapping[int, str]) -> Future[Any]:
        """Start processing one move for each seat of `to_move()`. The match is unchanged until `finish_moves`.

        Raises `IllegalMove` or `WrongSeat`."""

    def finish_moves(self, done: Future[Any]) -> None:
        """Apply the moves passed to `begin_moves`, once its future is done.

        Raises `WorldFailure` if processing them failed."""


class BoundedGame(Protocol):
    """Optional protocol: a game that limits how many matches can be open at once, for example because each needs a
    server.

    The driver delays the other matches."""

    @property
    def at_once(self) -> int | None:
        """Maximum number of open matches per process, 1 or more; None for no limit."""


class ClosableMatch(Protocol):
    """Optional protocol: a match that holds an external resource, such as a server."""

    def close(self) -> None:
        """Release the resource without waiting. The driver calls this at the end of each match, even after a forfeit.

        Further calls do nothing. The match can still be read."""


@runtime_checkable
class RecordedGame(Protocol):
    """Optional protocol: a game whose matches depend on something external, such as tools."""

    @property
    def pure(self) -> bool:
        """Whether the seed and the moves determine all answers, so a replay can query again.

        False if answers may change, as from a server. Then a replay uses the recorded answers."""

    def recorded(self, events: Sequence[Event]) -> Game:
        """Return a version of this game whose matches take answers only from these events."""


@runtime_checkable
class ReportingMatch(Protocol):
    """Optional protocol: a match that reports further figures per seat besides the return. They are recorded."""

    def report(self, seat: int) -> Mapping[str, float]:
        """Return the seat's figures by name at the end of the match: `{"exact": 0.0, "ignoring_white_space": 1.0}`."""


@runtime_checkable
class PictureMatch(Protocol):
    """Optional protocol: a match that draws its position, for people in a browser and as pixels."""

    def draw_picture(self, seat: int) -> Picture | None:
        """Return a picture of this seat's view of the position, or None.

        Its HTML is shown in a frame of the picture's size. It should fill the frame, as an `<svg>` with a `viewBox`
        does, and support light and dark schemes (`prefers-color-scheme`). It may have styles, but scripts do not run
        and nothing is loaded. Only an `<svg>` can be rendered as pixels. It may also show what the seat saw earlier,
        such as the last move, even if `observe` and `view` omit it. `gymposium.games.pictures` draws boards, cards,
        dice and tables."""


@runtime_checkable
class NotationGame(Protocol):
    """Optional protocol: a game with a separate human notation for moves, as in chess. Web pages show it."""

    def notation(self, events: Sequence[Event]) -> list[str]:
        """Return the human notation of each event, from the start of the match: `["e4", "e5", "Nf3"]`."""


class Game(Protocol):
    """Rules with fixed parameters."""

    def __hash__(self) -> int: ...

    @property
    def spec(self) -> GameSpec: ...

    @property
    def params(self) -> Mapping[str, Any]: ...

    @property
    def name(self) -> str:
        """Name in OpenSpiel's form, with all non-default parameters: `goofspiel(num_cards=8)`."""

    @property
    def seats(self) -> int: ...

    @property
    def utility_range(self) -> tuple[float, float]:
        """Minimum and maximum final return of a seat."""

    @property
    def max_decisions(self) -> int:
        """Upper bound on the number of decisions in a match."""

    @property
    def num_actions(self) -> int:
        """Size of the action space; 0 in free-text games."""

    @property
    def tensor_shape(self) -> tuple[int, ...] | None: ...

    @property
    def move_pattern(self) -> re.Pattern[str] | None:
        """Pattern that matches anything that is a move in some position.

        It distinguishes *illegal* from *unparsable* replies."""

    def rules(self, seat: int, style: Style = "full") -> str:
        """Return the text that is constant during a match: the rules, and the seat's identity."""

    def new(self, seed: int) -> Match:
        """Start a match. The same seed and the same moves give the same match."""

    def load(self, events: Sequence[Event], seed: int | None = None) -> Match:
        """Return the match after these events. With its seed, it continues as the original would."""


def make_replay_game(game: Game, events: Sequence[Event]) -> Game:
    """Return a version of the game whose matches take answers only from these events.

    Return the game unchanged if its matches depend on nothing external."""
    method = getattr(game, "recorded", None)
    return game if method is None else cast(Game, method(events))


def require_seat(seat: int, seats: int) -> None:
    """Raise `BadOption` for an unknown seat. As an index, -1 would select the last one."""
    if not 0 <= seat < seats:
        raise BadOption(f"seat={seat} must be a seat from 0 to {seats - 1}.")


def find_seat_result(returns: Sequence[float], seat: int, forfeit: int | None = None) -> str:
    """Return a seat's result against the best other seat: `win`, `draw` or `loss`; `score` in single-seat games.

    The seat `forfeit`, if given, loses to all others, whatever the returns. Raises `BadOption` for an unknown seat."""
    require_seat(seat, len(returns))
    if len(returns) == 1:
        return "score"
    if seat == forfeit:
        return "loss"
    best = max((r for s, r in enumerate(returns) if s != seat and s != forfeit), default=-math.inf)
    mine = returns[seat]
    return "win" if mine > best else "draw" if mine == best else "loss"
