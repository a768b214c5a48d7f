"""Game pictures in frames: their aspect ratio, and their clickable places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymposium.games.pictures import Picture, find_places
from gymposium.util.visible import visible

_FLAT, _TALL = 0.04, 6.0
"""Limits of a frame's aspect ratio. They are needed because a plugin's picture may have any size."""


def render_frame(picture: Picture) -> tuple[str, float]:
    """Return a picture's HTML, with control characters made visible, and the ratio of its height to its width."""
    return visible(picture.html), round(min(max(picture.height / picture.width, _FLAT), _TALL), 4)


def map_clicks(picture: Picture, legal: Sequence[str]) -> dict[str, Any] | None:
    """Return the data that makes a picture clickable, for the page's script, or None if no legal move names a place on
    it.

    `names` are the names of places. `rects` are their rectangles, each with the place's number, x, y, width and height
    in fractions of the frame. `moves` lists, for each legal move, the numbers of the places that it names, in order."""
    numbers: dict[str, int] = {}
    for place in picture.places:
        numbers.setdefault(place.name, len(numbers))
    moves = [[numbers[name] for name in find_places(move, numbers)] for move in legal]
    if not any(moves):
        return None
    rects = [
        [
            numbers[place.name],
            round(place.x / picture.width, 4),
            round(place.y / picture.height, 4),
            round(place.width / picture.width, 4),
            round(place.height / picture.height, 4),
        ]
        for place in picture.places
    ]
    return {"names": [visible(name) for name in numbers], "rects": rects, "moves": moves}
