"""Drawings of pieces, each in a square of size 1."""

from __future__ import annotations

from html import escape

from gymposium.games.pictures.picture import trim

_INKS = {"white": "black", "black": "white", "mark": "ink", "dark": "ink"}
"""Color of a disc's label; `square` on all other colors."""


def draw_cross() -> str:
    """Return the drawing of an x."""
    return '<path d="M.24.24.76.76M.76.24.24.76" stroke="var(--one)" stroke-width=".13" stroke-linecap="round"/>'


def draw_ring() -> str:
    """Return the drawing of an o."""
    return '<circle cx=".5" cy=".5" r=".27" fill="none" stroke="var(--two)" stroke-width=".12"/>'


def draw_disc(color: str, label: str = "", radius: float = 0.38) -> str:
    """Return the drawing of a disc with a short label, in a picture color."""
    shape = f'cx=".5" cy=".5" r="{trim(radius)}"'
    drawn = f'<circle {shape} fill="var(--{color})" stroke="var(--edge)" stroke-width=".035"/>'
    ink = f"var(--{_INKS.get(color, 'square')})"
    if not label:
        return drawn
    return (
        f'{drawn}<text x=".5" y=".5" font-size=".42" font-weight="600" text-anchor="middle" '
        f'dominant-baseline="central" fill="{ink}">{escape(label)}</text>'
    )


def draw_glyph(sign: str, color: str) -> str:
    """Return the drawing of an outlined character in a picture color."""
    # U+FE0E requests text instead of a color emoji
    return (
        f'<text x=".5" y=".79" font-size=".82" text-anchor="middle" fill="var(--{color})" stroke="var(--edge)" '
        f'stroke-width=".03" paint-order="stroke">{escape(sign)}&#xfe0e;</text>'
    )


def draw_tile(label: str, fill: str = "square", ink: str = "ink") -> str:
    """Return the drawing of a tile with a label, in picture colors."""
    size = min(0.5, 1.3 / max(len(label), 1))
    return (
        f'<rect x=".05" y=".05" width=".9" height=".9" rx=".09" fill="var(--{fill})" stroke="var(--line)" '
        f'stroke-width=".015"/><text x=".5" y=".5" font-size="{trim(size)}" font-weight="600" text-anchor="middle" '
        f'dominant-baseline="central" fill="var(--{ink})">{escape(label)}</text>'
    )
