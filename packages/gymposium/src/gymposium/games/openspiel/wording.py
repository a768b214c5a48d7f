"""What one OpenSpiel game needs to be played in words. Every number in it comes from the engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gymposium.games.protocol import Style

if TYPE_CHECKING:
    import pyspiel


class Wording(Protocol):
    """The words of one game. Its text is a function of what the seat's engine view holds, no more."""

    move_pattern: re.Pattern[str]

    def move_names(self, engine: pyspiel.Game) -> Sequence[str] | None:
        """The name of each action, by index; None where the words are `WordingByPosition`."""
        ...

    def rules(self, seat: int, style: Style) -> str:
        """What does not change during a match."""
        ...

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        """The position as this seat may see it, without the list of legal moves."""
        ...


class WordingByPosition(Wording, Protocol):
    """The words of a game in which what an action is called depends on the position. Its `move_names` gives None."""

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        """The name of each of these actions, all of them legal in this position."""
        ...


@runtime_checkable
class WordingWithPictures(Protocol):
    """What a wording may add: pictures, for people who look at matches in a browser."""

    def render_html(self, state: pyspiel.State, seat: int) -> str:
        """The position as this seat may see it (`gymposium.games.protocol.Draws`)."""
        ...
