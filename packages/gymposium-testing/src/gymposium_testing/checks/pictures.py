"""Checks of pictures: they can be shown unchanged, and their places can be clicked on."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from gymposium.games.pictures import Picture
from gymposium.games.pictures.picture import COLOURS
from gymposium.games.protocol import Game
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, short
from gymposium_testing.walk import played

_LOADS = re.compile(
    r"<script|\bon\w+\s*=|javascript:|\b(?:href|src)\s*=\s*[\"']?(?!#)\w+:|url\(\s*[\"']?(?!#)\w+:", re.IGNORECASE
)
_COLOUR = re.compile(r"var\(\s*--([\w-]+)\s*\)")
"""A color without a fallback."""
_DEFINED = re.compile(r"--([\w-]+)\s*:")
_MARGIN = 0.5
"""How far a place may extend beyond the picture, in percent of its larger side."""


def pictures_are_whole(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A picture is None or a `Picture` with a size. It needs no script and loads nothing. An `<svg>` in it is
    well-formed and has an `aria-label` that describes it, and its places have names and lie within it."""
    drawn = 0
    for match in played(game, seed, max(4, effort.decisions // 4)):
        if (picture := getattr(match, "picture", None)) is None:  # of `Draws`
            break
        for seat in range(game.seats):
            shown = picture(seat)
            fault, do = _fault(shown)
            if fault:
                raise CheckFailed(f"the picture of seat {seat}: {fault}.", where=after(match, seat), do=do)
            drawn += shown is not None
    if not drawn:
        raise NotApplicable("the game draws no pictures")


def _fault(picture: object) -> tuple[str, str]:
    """Return what is wrong with a picture, and the fix; empty texts if nothing is."""
    if picture is None:
        return "", ""
    if not isinstance(picture, Picture):
        return f"it is {short(picture)}", "return a gymposium.games.pictures.Picture, or None."
    if not (0 < picture.width < float("inf") and 0 < picture.height < float("inf")):
        return f"its size is {picture.width} by {picture.height}", "use a width and height above 0."
    if found := _LOADS.search(picture.html):
        return f"it has {found[0]!r}", "remove scripts and addresses: its frame runs no script and loads nothing."
    if "<svg" in picture.html:
        markup = picture.html[picture.html.index("<svg") : picture.html.rindex("</svg>") + 6]
        try:
            told = ET.fromstring(markup).get("aria-label")
        except ET.ParseError as error:
            return f"its <svg> is not well-formed ({error})", "close every element, and escape text."
        if not told:
            return "its <svg> has no aria-label", "describe what it shows, for people who cannot see it."
    if unknown := {*_COLOUR.findall(picture.html)}.difference(_DEFINED.findall(picture.html)):
        return f"it uses the unknown color {min(unknown)!r}", f"use one of {', '.join(sorted(COLOURS))}."
    edge = _MARGIN / 100 * max(picture.width, picture.height)
    for place in picture.places:
        inside = -edge <= place.x and place.x + place.width <= picture.width + edge
        inside = inside and -edge <= place.y and place.y + place.height <= picture.height + edge
        if not (place.name and inside and place.width > 0 and place.height > 0):
            return f"{short(place)} has no name or size, or lies outside it", "give places in the picture's unit."
    return "", ""
