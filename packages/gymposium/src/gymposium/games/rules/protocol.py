"""What a game author writes: `Rules`, and what may be added to it."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from gymposium.games.protocol import Event, Style

if TYPE_CHECKING:
    import numpy as np

S = TypeVar("S", bound=Hashable)
"""The author's own type for a position. It must not change once it is made, and compare by value: a NamedTuple, a
frozen dataclass, a tuple, a string."""


class Rules(Protocol[S]):
    """The rules of a game, as functions of its position. Write a class with these methods; it derives from nothing.

    Nothing here keeps anything: a position goes in, an answer comes out, and equal positions get equal answers.
    The class is made with the game's parameters as keywords, and may raise `BadParameter` where they do not go
    together.
    """

    @property
    def moves(self) -> Sequence[str] | None:
        """The name of every move that may ever be legal; their order is that of the action space. None where
        seats answer in free text."""
        ...

    @property
    def utility_range(self) -> tuple[float, float]:
        """Least and greatest return that a seat can end with."""
        ...

    @property
    def max_decisions(self) -> int:
        """No match has more decisions than this."""
        ...

    def start(self) -> S:
        """The position that every match begins with, before chance and before any move."""
        ...

    def to_move(self, state: S, /) -> tuple[int, ...]:
        """The seats that must move now; several, in ascending order, where they move at once; `(CHANCE,)` where
        chance decides; `()` when it is over."""
        ...

    def legal_moves(self, state: S, seat: int, /) -> Sequence[str] | None:
        """The legal moves of a seat that is to move, at least one; None in a game of free text."""
        ...

    def play(self, state: S, moves: Mapping[int, str], /) -> S:
        """The position after these moves, one for each of `to_move(state)`, all of them legal; after chance,
        `{CHANCE: outcome}`. The position that was given stays as it is."""
        ...

    def returns(self, state: S, /) -> tuple[float, ...]:
        """Sum of rewards so far, one per seat."""
        ...

    def rules(self, seat: int, style: Style, /) -> str:
        """The rules in words and who this seat is, ending in a line break: what does not change in a match."""
        ...

    def position(self, state: S, seat: int, style: Style, /) -> str:
        """All that this seat may know of the position, in words, ending in a line break. Its legal moves are
        added to it."""
        ...


@runtime_checkable
class HasChance(Protocol):
    """For games with dice or cards: `chance=True` in the spec."""

    def chance(self, state: object, /) -> Mapping[str, float]:
        """The outcomes that are possible here, by name, with their weights: `{"heads": 1, "tails": 1}`. Only the
        proportions of the weights count."""
        ...


@runtime_checkable
class HasView(Protocol):
    """For games that hide something, where it must be written: `information="imperfect"` in the spec. Where nothing
    is hidden, the position itself (its `repr`) is the view."""

    def view(self, state: object, seat: int, /) -> str:
        """A short key of all that this seat knows, and of nothing else: two positions with equal keys are the
        same to it. Search and the leak check rest on it, so write it beside `position`, not from its text. The
        returns are added to it at the end, when everybody is told them."""
        ...


@runtime_checkable
class HasTensor(Protocol):
    """For `observation="tensor"`: what a seat knows, in numbers."""

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        """The shape of every tensor."""
        ...

    def tensor(self, state: object, seat: int, /) -> np.ndarray | Sequence[float]:
        """What this seat may know, as numbers of that shape, or flat."""
        ...


@runtime_checkable
class HasResample(Protocol):
    """For search in games that hide so much that playing at random hardly ever leads to what a seat has seen."""

    def resample(self, events: Sequence[Event], seat: int, rng: random.Random, /) -> Sequence[Event]:
        """Events that might have happened instead of these, for all that this seat knows: its views were the same
        all along, and its own moves."""
        ...


@runtime_checkable
class HasPictures(Protocol):
    """For people who look at matches in a browser."""

    def render_html(self, state: object, seat: int, /) -> str:
        """The position as this seat may see it, as a piece of HTML (`gymposium.games.protocol.Draws`)."""
        ...
