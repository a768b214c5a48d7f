"""Pictures of boards, as SVG, for whoever looks at matches in a browser (`gymposium.games.protocol.Draws`).

A picture takes no script and loads nothing. Its colours follow the reader's, light or dark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

_STYLE = """<style>
svg { --square: #f4f1ea; --dark: #dcd3c2; --line: #b9ad97; --name: #6b6459; --one: #2f5fd0;
  --two: #d9541e; --white: #fff; --black: #26262a; --edge: #26262a; font-family: system-ui, "DejaVu Sans", sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --square: #33363f; --dark: #262932; --line: #565b69; --name: #a0a3ad; --one: #7fa4ff;
    --two: #ff9a5c; --white: #f2f2f2; --black: #0c0c0f; --edge: #8b8f9c }
}
</style>"""

_EDGE = 0.07
"""Room for the names of rows and columns, as a share of the longer side."""

Piece = Callable[[str], str]
"""From what stands on a square to what is drawn in a square of size 1; empty text for nothing."""


def board(
    rows: Sequence[Sequence[str]],
    piece: Piece,
    *,
    row_names: Sequence[str] = (),
    column_names: Sequence[str] = (),
    checkered: bool = False,
    told: str,
) -> str:
    """A board of squares, the uppermost row first; `told` is the picture in words, for those who do not see it."""
    height, width = len(rows), max(map(len, rows))
    edge = _EDGE * max(height, width)
    left, below = edge * bool(row_names), edge * bool(column_names)
    # square, with the board in its middle
    side = max(width + left, height + below) * 1.03
    x0, y0 = (side - width - left) / 2 + left, (side - height - below) / 2
    squares, drawn = [], []
    for y, row in enumerate(rows):
        for x, what in enumerate(row):
            colour = "dark" if checkered and (x + y) % 2 else "square"
            place = f'x="{_n(x0 + x)}" y="{_n(y0 + y)}"'
            squares.append(f'<rect {place} width="1" height="1" fill="var(--{colour})"/>')
            if mark := piece(what):
                drawn.append(f'<svg {place} width="1" height="1" viewBox="0 0 1 1">{mark}</svg>')
    for y, name in enumerate(row_names):
        drawn.append(_name(x0 - left / 2, y0 + y + 0.5, edge, name))
    for x, name in enumerate(column_names):
        drawn.append(_name(x0 + x + 0.5, y0 + height + below / 2, edge, name))
    lines = f'stroke="var(--line)" stroke-width="{_n(side / 250)}"'
    box = f"0 0 {_n(side)} {_n(side)}"
    inside = f"<g {lines}>{''.join(squares)}</g>{''.join(drawn)}"
    return f'{_STYLE}<svg viewBox="{box}" role="img" aria-label="{escape(told)}">{inside}</svg>'


def cross(what: str = "") -> str:
    """An x."""
    return '<path d="M.24.24.76.76M.76.24.24.76" stroke="var(--one)" stroke-width=".13" stroke-linecap="round"/>'


def ring(what: str = "") -> str:
    """An o."""
    return '<circle cx=".5" cy=".5" r=".27" fill="none" stroke="var(--two)" stroke-width=".12"/>'


def disc(colour: str) -> str:
    """A disc of one of the picture's colours: one, two, white, black."""
    return f'<circle cx=".5" cy=".5" r=".38" fill="var(--{colour})" stroke="var(--edge)" stroke-width=".025"/>'


def marks(drawn: Mapping[str, str]) -> Piece:
    """What stands for each text on a square; all others are empty."""
    return lambda what: drawn.get(what, "")


def glyph(text: str, colour: str) -> str:
    """A sign of one of the picture's colours, with an edge."""
    # U+FE0E: as text, not as a coloured emoji
    return (
        f'<text x=".5" y=".79" font-size=".82" text-anchor="middle" fill="var(--{colour})" stroke="var(--edge)" '
        f'stroke-width=".03" paint-order="stroke">{escape(text)}&#xfe0e;</text>'
    )


def _name(x: float, y: float, edge: float, text: str) -> str:
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(0.62 * edge)}" fill="var(--name)" text-anchor="middle" '
        f'dominant-baseline="central">{escape(text)}</text>'
    )


def _n(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
