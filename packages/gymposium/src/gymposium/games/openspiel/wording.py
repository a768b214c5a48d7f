"""Protocols for the wording of OpenSpiel games. Every number in the texts comes from the engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pyspiel

from gymposium.games.pictures import Picture
from gymposium.games.protocol import Event, Style


class Wording(Protocol):
    """Protocol of a game's wording. Texts depend only on the contents of the seat's engine view."""

    move_pattern: re.Pattern[str]

    @property
    def names(self) -> Sequence[str] | None:
        """Name of each action by index, or None for `WordingByPosition`."""

    def rules(self, seat: int, style: Style) -> str:
        """Return the text that is constant during a match."""

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        """Return this seat's view of the position as text, without the list of legal moves."""


class WordingByPosition(Wording, Protocol):
    """Protocol of a wording with position-dependent action names. `names` is None."""

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        """Return the names of these actions, which are legal in this position."""


@runtime_checkable
class WordingWithPictures(Protocol):
    """Optional protocol: a wording that draws pictures for people in a browser."""

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        """Return a picture of this seat's view of the position (`gymposium.games.protocol.PictureMatch`).

        `events` are the events so far if the game hides nothing, else ()."""


def match_view(pattern: re.Pattern[str], view: str) -> re.Match[str]:
    """Return the first match of a pattern in an engine view.

    Raises `ValueError` without a match: the engine's format has changed."""
    found = pattern.search(view)
    if found is None:
        raise ValueError(
            f"The engine's view does not match {pattern.pattern!r}: {view[:200]!r}. Install a version of open_spiel "
            "that gymposium supports."
        )
    return found


def format_compact_facts(words: Wording, state: pyspiel.State, seat: int) -> dict[str, str]:
    """Return the lines of the compact text, keyed by their first word: `{"hand": "3c 7c", "top": "8s clubs"}`.

    `none` becomes an empty string.

    Pictures of games with hidden information are made from these lines, so they cannot show more than the text."""
    lines = [line.partition(" ") for line in words.position(state, seat, "compact").splitlines()]
    return {first: "" if rest == "none" else rest for first, _, rest in lines}
