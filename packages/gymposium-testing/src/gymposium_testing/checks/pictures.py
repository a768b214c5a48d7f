"""Check pictures: they are self-contained, and their places can be clicked."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from gymposium.games.pictures import Picture
from gymposium.games.pictures.picture import COLORS
from gymposium.games.protocol import Game
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, describe_position, shorten
from gymposium_testing.walk import play_matches

_EXTERNAL = re.compile(
    r"<script|\bon\w+\s*=|javascript:|\b(?:href|src)\s*=\s*[\"']?(?!#)\w+:|url\(\s*[\"']?(?!#)\w+:", re.IGNORECASE
)
_COLOR = re.compile(r"var\(\s*--([\w-]+)\s*\)")
"""A color variable without a fallback."""
_DEFINED = re.compile(r"--([\w-]+)\s*:")
_MARGIN = 0.5
"""Maximum distance that a place may extend beyond the picture, in percent of the picture's larger side."""


def pictures_are_valid(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A picture is None or a `Picture` with a size, and contains no script or external address.

    An `<svg>` is well-formed and has a descriptive `aria-label`. Places have names and lie within the picture."""
    drawn = 0
    for match in play_matches(game, seed, max(4, effort.decisions // 4)):
        if (picture := getattr(match, "draw_picture", None)) is None:  # of `Draws`
            break
        for seat in range(game.seats):
            shown = picture(seat)
            fault, fix = _find_fault(shown)
            if fault:
                raise CheckFailed(
                    f"the picture of seat {seat}: {fault}.", where=describe_position(match, seat), fix=fix
                )
            drawn += shown is not None
    if not drawn:
        raise NotApplicable("the game draws no pictures")


def _find_fault(picture: object) -> tuple[str, str]:
    """Return an error in a picture and its fix, or empty texts."""
    if picture is None:
        return "", ""
    if not isinstance(picture, Picture):
        return f"it is {shorten(picture)}", "return a gymposium.games.pictures.Picture, or None."
    if not (0 < picture.width < float("inf") and 0 < picture.height < float("inf")):
        return f"its size is {picture.width} by {picture.height}", "use a width and height above 0."
    if found := _EXTERNAL.search(picture.html):
        return f"it has {found[0]!r}", "remove scripts and addresses: its frame runs no script and loads nothing."
    if "<svg" in picture.html:
        markup = picture.html[picture.html.index("<svg") : picture.html.rindex("</svg>") + 6]
        try:
            told = ET.fromstring(markup).get("aria-label")
        except ET.ParseError as error:
            return f"its <svg> is not well-formed ({error})", "close every element, and escape text."
        if not told:
            return "its <svg> has no aria-label", "describe what it shows, for people who cannot see it."
    if unknown := {*_COLOR.findall(picture.html)}.difference(_DEFINED.findall(picture.html)):
        return f"it uses the unknown color {min(unknown)!r}", f"use one of {', '.join(sorted(COLORS))}."
    edge = _MARGIN / 100 * max(picture.width, picture.height)
    for place in picture.places:
        inside = -edge <= place.x and place.x + place.width <= picture.width + edge
        inside = inside and -edge <= place.y and place.y + place.height <= picture.height + edge
        if not (place.name and inside and place.width > 0 and place.height > 0):
            return f"{shorten(place)} has no name or size, or lies outside it", "give places in the picture's unit."
    return "", ""
