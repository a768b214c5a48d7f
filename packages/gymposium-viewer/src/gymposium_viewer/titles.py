"""Titles of games and seats for pages. No game is loaded, because a record may name any game."""

from __future__ import annotations

from functools import lru_cache

from gymposium.errors import BadParameter
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import GameSpec

_COLORS = ("black", "white")
"""Piece colors that have a CSS class."""


def game_title(name: str) -> str:
    """Return a game's title and parameters, such as `Goofspiel (num_cards=8)`, or the name of an unknown game."""
    spec = _find_spec(name)
    parameters = name.strip().partition("(")[1:]
    return name if spec is None else f"{spec.title} {''.join(parameters)}".strip()


def seat_title(game: str, seat: int, word: str = "Seat") -> str:
    """Format a seat as `Seat 0 (Black)`, or `Seat 0` if the game does not name its seats."""
    name = seat_name(game, seat)
    return f"{word} {seat} ({name})" if name else f"{word} {seat}"


def seat_name(game: str, seat: int) -> str:
    """Return the game's own name for the seat; empty if it has none."""
    spec = _find_spec(game)
    return dict(enumerate(() if spec is None else spec.seat_names)).get(seat, "")


def seat_class(game: str, seat: int) -> str:
    """Return the CSS classes that color an element by seat: by the color of its pieces, or else by seat number."""
    color = seat_name(game, seat).lower().partition(",")[0]
    return f"seat-{seat % 6} {color}" if color in _COLORS else f"seat-{seat % 6}"


def _find_spec(name: str) -> GameSpec | None:
    return host().games.get(_parse_base_name(name))


@lru_cache(maxsize=1024)
def _parse_base_name(name: str) -> str:
    """Return the name without parameters; empty if it cannot be parsed."""
    try:
        return parse_name(name)[0]
    except BadParameter:
        return ""
