"""Picture parts made of text: tables, notes, scores and programs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gymposium.games.pictures.picture import (
    WIDTH,
    PicturePart,
    PicturePlace,
    draw_box,
    draw_text,
    trim,
    wrap_text,
)

_LINE = 18.0
_LETTER = 7.4
"""Upper bound on the average width of a letter of size 13."""


def draw_note(words: str) -> PicturePart:
    """Return lines of text, wrapped to the width of the picture."""
    lines = wrap_text(words, int(WIDTH / _LETTER))
    svg = [draw_text(0, 9 + _LINE * row, line, 13, "ink", anchor="start") for row, line in enumerate(lines) if line]
    return PicturePart("".join(svg), _LINE * len(lines))


def draw_table(
    rows: Sequence[Sequence[str]],
    *,
    head: Sequence[str] = (),
    last: str | Collection[str] = (),
    faded: Collection[str] = (),
    places: bool = False,
    widths: Sequence[float] = (),
) -> PicturePart:
    """Return a table of short texts.

    `widths` sets relative column widths; the default is equal widths. Long texts are wrapped. `places` makes each cell
    a place with that name, as for bids. Cells whose text is `last` are marked, and those in `faded` are drawn as no
    longer possible."""
    columns = max([len(row) for row in rows] + [len(head)])
    shares = list(widths) or [1.0] * columns
    sizes = [share / sum(shares) * (WIDTH - 2) for share in shares]
    marked = {last} if isinstance(last, str) else last
    svg: list[str] = []
    found: list[PicturePlace] = []
    y = 1.0
    for row in [head, *rows] if head else rows:
        cells = [wrap_text(cell, max(2, int((size - 8) / _LETTER))) for cell, size in zip(row, sizes)]
        high = _LINE * max([len(lines) for lines in cells] + [1]) + 8
        x = 1.0
        for cell, lines, size in zip(row, cells, sizes):
            ink = "name" if row is head or cell in faded else "ink"
            if row is not head:
                fill, line, thick = ("mark", "mark-line", 2.0) if cell in marked else ("card", "line", 1.0)
                fill = "dark" if cell in faded and cell not in marked else fill
                svg.append(draw_box(x, y, size, high, fill, line, thick=thick))
            svg += [
                draw_text(x + size / 2, y + 4 + _LINE * (index + 0.5), line, 13, ink)
                for index, line in enumerate(lines)
            ]
            if places and row is not head and cell:
                found.append(PicturePlace(cell, x, y, size, high))
            x += size
        y += high
    return PicturePart("".join(svg), y + 1, tuple(found))


def draw_score_track(scores: Sequence[tuple[str, float, str]], most: float) -> PicturePart:
    """Return score bars from 0 to `most`. Each has a label, a value, and a picture color."""
    svg = []
    for row, (label, value, color) in enumerate(scores):
        y = row * 42.0
        full = max(0.0, min(1.0, value / most)) * (WIDTH - 2)
        svg.append(draw_text(0, y + 9, f"{label}: {value:g}", 13, "ink", anchor="start"))
        svg.append(draw_box(1, y + 19, WIDTH - 2, 16, "square"))
        if full:
            svg.append(f'<rect x="1" y="{trim(y + 20)}" width="{trim(full)}" height="14" fill="var(--{color})"/>')
    return PicturePart("".join(svg), 42.0 * len(scores))


def draw_code(lines: Sequence[str], *, current: Collection[int] = (), most: int = 54) -> PicturePart:
    """Return a program with line numbers. The lines in `current` are marked.

    Lines longer than `most` characters are wrapped."""
    size = min(12.0, (WIDTH - 34) / most / 0.61)
    high = size * 1.45
    svg: list[str] = []
    y = 6.0
    for place, line in enumerate(lines, start=1):
        shown = [line[start : start + most] for start in range(0, max(1, len(line)), most)]
        if place in current:
            svg.append(draw_box(2, y, WIDTH - 4, high * len(shown), "mark", "mark-line", thick=1.6))
        svg.append(draw_text(24, y + high / 2, str(place), size, anchor="end"))
        for piece in shown:
            if piece.strip():
                svg.append(draw_text(30, y + high / 2, piece.replace(" ", "\u00a0"), size, "ink", anchor="start"))
            y += high
    back = draw_box(1, 1, WIDTH - 2, y + 4, "card")
    return PicturePart(
        f"{back}<g style=\"font-family:ui-monospace,'DejaVu Sans Mono',monospace\">{''.join(svg)}</g>", y + 6
    )
