"""Pictures made of parts, with named places that moves refer to."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import takewhile
from typing import NamedTuple
from zlib import crc32

WIDTH = 360.0
"""Width of every picture, in picture units. A unit is about a pixel on a phone."""
_GAP = 12.0
_MAX_EVENTS = 24
"""Number of recent events to search for the last turn."""

_STYLE = """<style>
svg { --square: #f6f3ec; --dark: #ded5c4; --line: #766d5e; --name: #57514a; --ink: #1c1d20; --one: #2f5fd0;
  --two: #b8430f; --three: #1d7d57; --white: #fff; --black: #26262a; --edge: #26262a; --mark: #ffe08a;
  --mark-line: #8a5a00; --won: #157a3c; --card: #fff; --red: #b3261e; --back: #4a5a8a; --back-ink: #fff;
  font-family: system-ui, "DejaVu Sans", sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --square: #33363f; --dark: #24272f; --line: #8d92a2; --name: #b9bcc6; --ink: #ececef; --one: #8fb0ff;
    --two: #ffa268; --three: #6fd3a8; --white: #f2f2f2; --black: #0c0c0f; --edge: #a2a6b3; --mark: #4a3b0e;
    --mark-line: #d9b24a; --won: #7ee2a0; --card: #17181c; --red: #ff9d94; --back: #34406a; --back-ink: #fff }
}
</style>"""

COLORS = frozenset(re.findall(r"--([\w-]+):", _STYLE))
"""Names of the picture colors. A picture uses them as `var(--one)` and so on."""
_WORD = re.compile(r"\w+")


class PicturePlace(NamedTuple):
    """A clickable rectangle in a picture that stands for part of a move, such as a square or a card."""

    name: str
    """The place's text in moves: `e2` in `e2e4`, `Ah` in `discard Ah`, or a whole move."""
    x: float
    y: float
    width: float
    height: float


class PicturePart(NamedTuple):
    """A part of a picture, such as a board or a hand of cards."""

    svg: str
    height: float
    places: tuple[PicturePlace, ...] = ()
    drawings: frozenset[str] = frozenset()
    """Drawings that `svg` refers to by id (`use`)."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a position."""

    html: str
    """An `<svg>` with a `viewBox`, or other HTML. The page's frame around it runs no scripts and loads nothing."""
    width: float
    height: float
    """Size of the frame, in any unit. The frame keeps this aspect ratio."""
    places: tuple[PicturePlace, ...] = ()
    """Places on the picture, in the unit of width and height. Two places may have the same name."""

    @classmethod
    def from_parts(cls, *parts: PicturePart, told: str) -> Picture:
        """Return a picture with these parts stacked vertically.

        `told` is its text alternative for people who cannot see it."""
        inside: list[str] = []
        places: list[PicturePlace] = []
        drawings: set[str] = set()
        y = 0.0
        for part in parts:
            if y:
                y += _GAP
            inside.append(f'<g transform="translate(0 {trim(y)})">{part.svg}</g>' if y else part.svg)
            places += [place._replace(y=place.y + y) for place in part.places] if y else part.places
            drawings |= part.drawings
            y += part.height
        symbols = [f'<symbol id="{_make_id(one)}" viewBox="0 0 1 1">{one}</symbol>' for one in sorted(drawings)]
        box = f"0 0 {trim(WIDTH)} {trim(y)}"
        svg = f'<svg viewBox="{box}" role="img" aria-label="{escape(told)}">{"".join([*symbols, *inside])}</svg>'
        return cls(_STYLE + svg, WIDTH, y, tuple(places))


def find_last_turn(events: Sequence[tuple[int, str]]) -> str:
    """Return the latest moves by the seat that moved last, separated by spaces: `a4 f4 e3`.

    `events` are (seat, move) pairs. Chance events (seat -1) are skipped."""
    moves = [(seat, move) for seat, move in events[-_MAX_EVENTS:] if seat >= 0]
    mine = takewhile(lambda event: event[0] == moves[-1][0], reversed(moves))
    return " ".join([move for _, move in mine][::-1])


def find_places(move: str, names: Collection[str]) -> list[str]:
    """Return the places that a move names, in order: `e2` and `e4` for `e2e4`.

    If the whole move is a place's name, it names that place. Otherwise, each word made of place names counts, with at
    most one extra letter after two names: `e7e8q`, `13/7 8/7`, `7h to 8c`."""
    if move in names:
        return [move]
    return [name for word in _WORD.findall(move) for name in _split_word(word, names)]


def _split_word(word: str, names: Collection[str]) -> list[str]:
    found: list[str] = []
    start = 0
    while start < len(word):
        end = next((end for end in range(len(word), start, -1) if word[start:end] in names), None)
        if end is None:
            return found if len(found) > 1 and len(word) - start == 1 else []
        found.append(word[start:end])
        start = end
    return found


def draw_copy(drawing: str, x: float, y: float, size: float = 1) -> str:
    """Return markup that draws a drawing of size 1 at a position. The part must list the drawing."""
    return f'<use href="#{_make_id(drawing)}" x="{trim(x)}" y="{trim(y)}" width="{trim(size)}" height="{trim(size)}"/>'


@lru_cache(maxsize=1024)
def _make_id(drawing: str) -> str:
    return f"d{crc32(drawing.encode()):x}"


def draw_text(x: float, y: float, words: str, size: float, color: str = "name", *, anchor: str = "middle") -> str:
    """Return markup for one line of text, centered on `y`, in a picture color."""
    return (
        f'<text x="{trim(x)}" y="{trim(y)}" font-size="{trim(size)}" fill="var(--{color})" '
        f'text-anchor="{anchor}" dominant-baseline="central">{escape(words)}</text>'
    )


def draw_box(
    x: float, y: float, width: float, height: float, fill: str, line: str = "line", *, thick: float = 1.2
) -> str:
    """Return markup for a rectangle with round corners, in picture colors."""
    return (
        f'<rect x="{trim(x)}" y="{trim(y)}" width="{trim(width)}" height="{trim(height)}" rx="4" '
        f'fill="var(--{fill})" stroke="var(--{line})" stroke-width="{thick}"/>'
    )


def wrap_text(words: str, most: int) -> list[str]:
    """Wrap a text into lines of at most `most` characters. Longer words are split."""
    lines: list[str] = []
    for paragraph in words.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            while len(word) > most:
                lines += [line, word[:most]] if line else [word[:most]]
                line, word = "", word[most:]
            if line and len(line) + 1 + len(word) > most:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


def trim(value: float) -> str:
    """Format a coordinate compactly."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
