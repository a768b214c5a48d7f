"""Protocols for game authors: `Rules` and optional extensions."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from gymposium.games.protocol import Event, Style

if TYPE_CHECKING:
    import numpy as np

    from gymposium.games.pictures import Picture

S = TypeVar("S", bound=Hashable)
"""Type of the author's positions.

Positions are immutable and compare by value: a NamedTuple, a frozen dataclass, a tuple or a string."""


class RulesError(Exception):
    """A method of an author's rules returned a wrong value. The message names the method and says what to return."""


class Rules(Protocol[S]):
    """Protocol of a game's rules: pure functions of a position. The author's class needs no base class.

    Methods keep no state, and equal positions give equal results. The class is called with the game's parameters as
    keyword arguments. It may raise `BadParameter` if the parameters are inconsistent."""

    @property
    def moves(self) -> Sequence[str] | None:
        """Names of all moves that may ever be legal, in action-space order; None in free-text games."""

    @property
    def utility_range(self) -> tuple[float, float]:
        """Minimum and maximum final return of a seat."""

    @property
    def max_decisions(self) -> int:
        """Upper bound on the number of decisions in a match."""

    def start(self) -> S:
        """Return the initial position of every match, before any chance outcome or move."""

    def to_move(self, state: S, /) -> tuple[int, ...]:
        """Return the seats to move, in ascending order.

        There are several for simultaneous moves. Return `(CHANCE,)` if chance decides, and `()` at the end."""

    def legal_moves(self, state: S, seat: int, /) -> Sequence[str] | None:
        """Return a seat's legal moves, at least one, or None in free-text games."""

    def play(self, state: S, moves: Mapping[int, str], /) -> S:
        """Return the position after one legal move for each seat of `to_move(state)`, or after `{CHANCE: outcome}`.

        `state` must not change."""

    def returns(self, state: S, /) -> tuple[float, ...]:
        """Return each seat's total reward so far."""

    def rules(self, seat: int, style: Style, /) -> str:
        """Return the rules and this seat's identity as text, ending with a newline.

        The text must not change during a match."""

    def position(self, state: S, seat: int, style: Style, /) -> str:
        """Return everything this seat may know about the position as text, ending with a newline.

        Omit the legal moves."""


@runtime_checkable
class HasChance(Protocol):
    """Optional protocol: rules of a game with chance (`chance=True` in the spec)."""

    def chance(self, state: object, /) -> Mapping[str, float]:
        """Return the possible outcomes by name with their weights: `{"heads": 1, "tails": 1}`.

        Weights need not sum to 1."""


@runtime_checkable
class HasView(Protocol):
    """Optional protocol: rules with a view. Required for hidden information (`information="imperfect"` in the spec).

    Without it, the `repr` of the position is the view."""

    def view(self, state: object, seat: int, /) -> str:
        """Return a short key for exactly what this seat knows. The seat cannot distinguish positions with equal keys.

        Search and the leak check rely on the key, so do not derive it from the text of `position`. After the end, the
        returns are appended, because all seats learn them."""


@runtime_checkable
class HasMoveForm(Protocol):
    """Optional protocol: rules of a game with too many moves to list in a prompt."""

    def move_form(self, state: object, seat: int, /) -> str:
        """Return what this seat's legal moves look like, with an example: `four colors, like red red blue green`.

        Prompts show this text instead of the list. Return "" if they should list the moves."""


@runtime_checkable
class HasTensor(Protocol):
    """Optional protocol: rules with a tensor observation (`observation="tensor"`)."""

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        """Shape of every tensor."""

    def tensor(self, state: object, seat: int, /) -> np.ndarray | Sequence[float]:
        """Return what this seat may know as numbers, flat or in the shape `tensor_shape`."""


@runtime_checkable
class HasResample(Protocol):
    """Optional protocol: rules that sample hidden information.

    Needed if random play rarely reproduces a seat's view."""

    def resample(self, events: Sequence[Event], seat: int, rng: random.Random, /) -> Sequence[Event]:
        """Return other events that this seat cannot distinguish from these.

        Its views and moves must be the same at every step."""


@runtime_checkable
class HasPictures(Protocol):
    """Optional protocol: rules that draw pictures for people in a browser."""

    def draw_picture(self, state: object, seat: int, events: Sequence[Event], /) -> Picture:
        """Return a picture of this seat's view of the position (`gymposium.games.protocol.PictureMatch`).

        `events` are the events so far if the game hides nothing, else ()."""
