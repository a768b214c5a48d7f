"""Protocols of the words of OpenSpiel games. Every number in the words comes from the engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pyspiel

from gymposium.games.pictures import Picture
from gymposium.games.protocol import Event, Style


class Wording(Protocol):
    """Protocol of the words of one game. Texts depend only on what the seat's engine view holds."""

    move_pattern: re.Pattern[str]

    @property
    def names(self) -> Sequence[str] | None:
        """Name of each action by index, or None for `WordingByPosition`."""
        ...

    def rules(self, seat: int, style: Style) -> str:
        """Return what does not change during a match."""
        ...

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        """Return the position as this seat may see it, without the list of legal moves."""
        ...


class WordingByPosition(Wording, Protocol):
    """Protocol of words in which the name of an action depends on the position. `names` is None."""

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        """Return the name of each of these actions, which are legal in this position."""
        ...


@runtime_checkable
class WordingWithPictures(Protocol):
    """Optional protocol: words with pictures for people in a browser."""

    def picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        """Return a picture of the position as this seat may see it (`gymposium.games.protocol.Draws`).

        `events` are the events so far if the game hides nothing, else ()."""
        ...


def compact_facts(words: Wording, state: pyspiel.State, seat: int) -> dict[str, str]:
    """Return the lines of the compact text by their first words: `{"hand": "3c 7c", "top": "8s clubs"}`; `none` is an
    empty text.

    Pictures of games with hidden information are made from them: so they show what the words tell, and no more."""
    lines = [line.partition(" ") for line in words.position(state, seat, "compact").splitlines()]
    return {first: "" if rest == "none" else rest for first, _, rest in lines}
