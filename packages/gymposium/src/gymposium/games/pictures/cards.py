"""Hands of cards, and dice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from gymposium.games.pictures.picture import WIDTH, PicturePart, PicturePlace, draw_box, draw_text, trim

_SPADE = (
    "M.5 .08C.62 .3 .92 .42 .92 .66 .92 .86 .66 .9 .55 .74L.62 .95H.38L.45 .74C.34 .9 .08 .86 .08 .66 .08 .42 .38 .3 "
    ".5 .08z"
)
_HEART = "M.5 .92C.3 .7 .06 .56 .06 .32 .06 .06 .4 .04 .5 .28 .6 .04 .94 .06 .94 .32 .94 .56 .7 .7 .5 .92z"
_DIAMOND = "M.5 .05L.85 .5 .5 .95 .15 .5z"
_CLUB = (
    "M.5 .06A.22 .22 0 0 1 .64 .44 .22 .22 0 1 1 .56 .7L.63 .95H.37L.44 .7A.22 .22 0 1 1 .36 .44 .22 .22 0 0 1 .5 .06z"
)
_SUITS = {"s": ("ink", _SPADE), "h": ("red", _HEART), "d": ("red", _DIAMOND), "c": ("ink", _CLUB)}
"""Color and outline of each suit, in a square of size 1."""
_WIDE, _HIGH, _GAP = 38.0, 54.0, 5.0
_HEAD = 20.0


def draw_hand(
    cards: Sequence[str],
    title: str = "",
    *,
    names: Sequence[str] | None = None,
    last: Collection[str] = (),
    notes: Sequence[str] = (),
    wide: float = _WIDE,
) -> PicturePart:
    """Return a row of cards under a title, wrapped over several lines if needed.

    A card is a rank and a suit (`Ah`, `Tc`), `?` for a face-down card, or any short text. Its place is named after the
    card, or by `names`. A card with an empty name is not a place. Cards in `last` are marked. `notes` has one or more
    lines of text below each card."""
    a_row = int((WIDTH + _GAP) // (wide + _GAP))
    head, foot = _HEAD * bool(title), 4 + 13.0 * max([note.count("\n") + 1 for note in notes]) if notes else 0.0
    svg = [draw_text(0, 8, title, 13, anchor="start")] if title else []
    found = []
    called = cards if names is None else names
    for index, card in enumerate(cards):
        x, y = index % a_row * (wide + _GAP) + 1, head + 1 + index // a_row * (_HIGH + foot + _GAP)
        svg.append(f'<g transform="translate({trim(x)} {trim(y)})">{_draw_card(card, card in last, wide)}</g>')
        if notes:
            lines = enumerate(notes[index].split("\n"))
            svg += [draw_text(x + wide / 2, y + _HIGH + 9 + 13 * row, line, 11) for row, line in lines]
        if called[index] and called[index] != "?":
            found.append(PicturePlace(called[index], x, y, wide, _HIGH))
    deep = max(1, -(-len(cards) // a_row))
    if not cards:
        svg.append(draw_box(1, head + 1, wide, _HIGH, "square"))
        svg.append(draw_text(1 + wide / 2, head + 1 + _HIGH / 2, "–", 14))
    return PicturePart("".join(svg), head + 2 + deep * (_HIGH + foot + _GAP) - _GAP, tuple(found))


def draw_piles(columns: Sequence[Sequence[str]], *, most: int = 7, empty: str = "") -> PicturePart:
    """Return columns of overlapping cards, with `?` for face-down cards.

    Face-up cards are places, and so is an empty column if `empty` gives it a name. The picture fits `most` columns."""
    step = (WIDTH - 2) / most
    svg: list[str] = []
    found: list[PicturePlace] = []
    lowest = 1.0
    for column in range(most):
        x = 1 + column * step
        cards = columns[column] if column < len(columns) else ()
        if not cards:
            svg.append(draw_box(x, 1, _WIDE, _HIGH, "square"))
            found += [PicturePlace(empty, x, 1, _WIDE, _HIGH)] if empty else []
        y = 1.0
        for place, card in enumerate(cards):
            svg.append(f'<g transform="translate({trim(x)} {trim(y)})">{_draw_card(card, False, _WIDE, True)}</g>')
            down = 9.0 if card == "?" else 22.0
            if card != "?":
                found.append(PicturePlace(card, x, y, _WIDE, _HIGH if place == len(cards) - 1 else down))
            y += down
            lowest = max(lowest, y - down)
    return PicturePart("".join(svg), lowest + _HIGH + 1, tuple(found))


@lru_cache(maxsize=1024)
def _draw_card(card: str, marked: bool, wide: float, covered: bool = False) -> str:
    """Return the markup of a card at the origin.

    With `covered`, rank and suit are in the upper part, which stays visible under another card."""
    if card == "?":
        return draw_box(0, 0, wide, _HIGH, "back") + (
            "" if covered else draw_text(wide / 2, _HIGH / 2, "?", 20, "back-ink")
        )
    fill, line, thick = ("mark", "mark-line", 2.0) if marked else ("card", "line", 1.2)
    back = draw_box(0, 0, wide, _HIGH, fill, line, thick=thick)
    if len(card) == 2 and card[1] in _SUITS and card[0] in "23456789TJQKA":
        color, path = _SUITS[card[1]]
        rank = "10" if card[0] == "T" else card[0]
        x, y, size = (wide - 18, 4, 14) if covered else (wide / 2 - 9, 28, 18)
        suit = f'<path transform="translate({trim(x)} {y}) scale({size})" d="{path}" fill="var(--{color})"/>'
        return (
            back + (draw_text(11, 12, rank, 15, color) if covered else draw_text(wide / 2, 15, rank, 20, color)) + suit
        )
    return back + draw_text(wide / 2, _HIGH / 2, card, min(20.0, 1.5 * wide / max(len(card), 1)), "ink")


_PIPS = {1: "e", 2: "ai", 3: "aei", 4: "acgi", 5: "acegi", 6: "acdfgi"}
_SIDE = 44.0


def draw_dice(faces: Sequence[str], title: str = "") -> PicturePart:
    """Return a picture of dice with these faces; `?` is a hidden die."""
    head = _HEAD * bool(title)
    svg = [draw_text(0, 8, title, 13, anchor="start")] if title else []
    for place, face in enumerate(faces):
        x, y = place * (_SIDE + 8) + 1, head + 1
        hidden = face == "?"
        svg.append(draw_box(x, y, _SIDE, _SIDE, "back" if hidden else "card"))
        pips = _PIPS.get(int(face)) if face.isdecimal() else None
        if pips is None:
            svg.append(draw_text(x + _SIDE / 2, y + _SIDE / 2, face, 20, "back-ink" if hidden else "ink"))
            continue
        svg += [
            f'<circle cx="{trim(x + (index % 3 + 1) * _SIDE / 4)}" cy="{trim(y + (index // 3 + 1) * _SIDE / 4)}" '
            f'r="4" fill="var(--ink)"/>'
            for index in ["abcdefghi".index(pip) for pip in pips]
        ]
    return PicturePart("".join(svg), head + _SIDE + 2)
