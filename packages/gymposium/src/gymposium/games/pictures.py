"""Pictures of boards as SVG, for people who look at matches in a browser (`gymposium.games.protocol.Draws`).

Pictures need no script and load nothing. Their colours follow the light or dark scheme of the browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""Width of the margin for names of rows and columns, as a fraction of the longer side."""


def board(
    rows: Sequence[Sequence[str]],
    pieces: Mapping[str, str],
    *,
    row_names: Sequence[str] = (),
    column_names: Sequence[str] = (),
    checkered: bool = False,
    told: str,
) -> str:
    """Return the picture of a board of squares, top row first.

    `pieces` maps the content of a square to its drawing in a square of size 1; other squares are empty. `told`
    describes the picture for people who cannot see it."""
    height, width = len(rows), max(map(len, rows))
    edge = _EDGE * max(height, width)
    left, below = edge * bool(row_names), edge * bool(column_names)
    # the picture is a square with the board in the middle
    side = max(width + left, height + below) * 1.03
    x0, y0 = (side - width - left) / 2 + left, (side - height - below) / 2
    dark = "".join(f"M{x} {y}h1v1h-1z" for y in range(height) for x in range(width) if checkered and (x + y) % 2)
    lines = [f"M{x} 0v{height}" for x in range(width + 1)] + [f"M0 {y}h{width}" for y in range(height + 1)]
    standing = [(pieces[what], x, y) for y, row in enumerate(rows) for x, what in enumerate(row) if what in pieces]
    ids = {piece: f"p{number}" for number, piece in enumerate(dict.fromkeys(piece for piece, _, _ in standing))}
    inside = [
        *(f'<symbol id="{name}" viewBox="0 0 1 1">{piece}</symbol>' for piece, name in ids.items()),
        f'<g transform="translate({_n(x0)} {_n(y0)})">',
        f'<rect width="{width}" height="{height}" fill="var(--square)"/><path d="{dark}" fill="var(--dark)"/>',
        f'<path d="{"".join(lines)}" stroke="var(--line)" stroke-width="{_n(side / 250)}"/>',
        *(f'<use href="#{ids[piece]}" x="{x}" y="{y}" width="1" height="1"/>' for piece, x, y in standing),
        f'<g font-size="{_n(0.62 * edge)}" fill="var(--name)" text-anchor="middle" dominant-baseline="central">',
        *(_name(-left / 2, y + 0.5, name) for y, name in enumerate(row_names)),
        *(_name(x + 0.5, height + below / 2, name) for x, name in enumerate(column_names)),
        "</g></g>",
    ]
    box = f"0 0 {_n(side)} {_n(side)}"
    return f'{_STYLE}<svg viewBox="{box}" role="img" aria-label="{escape(told)}">{"".join(inside)}</svg>'


def cross() -> str:
    """Return the drawing of an x."""
    return '<path d="M.24.24.76.76M.76.24.24.76" stroke="var(--one)" stroke-width=".13" stroke-linecap="round"/>'


def ring() -> str:
    """Return the drawing of an o."""
    return '<circle cx=".5" cy=".5" r=".27" fill="none" stroke="var(--two)" stroke-width=".12"/>'


def disc(colour: str) -> str:
    """Return the drawing of a disc in one of the picture's colours: one, two, white or black."""
    return f'<circle cx=".5" cy=".5" r=".38" fill="var(--{colour})" stroke="var(--edge)" stroke-width=".025"/>'


def glyph(text: str, colour: str) -> str:
    """Return the drawing of a character in one of the picture's colours, with an outline."""
    # U+FE0E asks for text instead of a coloured emoji
    return (
        f'<text x=".5" y=".79" font-size=".82" text-anchor="middle" fill="var(--{colour})" stroke="var(--edge)" '
        f'stroke-width=".03" paint-order="stroke">{escape(text)}&#xfe0e;</text>'
    )


def _name(x: float, y: float, text: str) -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'


def _n(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
