"""Two-row boards: pits with seeds, and points with stacks of checkers."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.pictures.picture import (
    WIDTH,
    PicturePart,
    PicturePlace,
    draw_box,
    draw_text,
    find_places,
    trim,
)


def draw_pits(
    upper: Sequence[tuple[str, int]], lower: Sequence[tuple[str, int]], stores: tuple[int, int], *, last: str = ""
) -> PicturePart:
    """Return two rows of pits with names and seed counts, between the two stores.

    The upper player's store is on the left, the lower player's on the right."""
    side = 42.0
    step = (WIDTH - 2 * side - 16) / len(lower)
    wide = min(step - 4, side)
    svg = [draw_box(1, 1, WIDTH - 2, 138, "square")]
    found = []
    for x, seeds in ((6.0, stores[0]), (WIDTH - side - 2, stores[1])):
        svg.append(draw_box(x, 28, side - 4, 84, "dark"))
        svg.append(draw_text(x + side / 2 - 2, 70, str(seeds), 18, "ink"))
    for row, (y, cells) in enumerate(((46.0, upper), (94.0, lower))):
        for place, (name, seeds) in enumerate(cells):
            x = side + 8 + place * step + step / 2
            fill, line, thick = ("mark", "mark-line", 2.4) if name == last else ("dark", "line", 1.2)
            svg.append(
                f'<circle cx="{trim(x)}" cy="{trim(y)}" r="{trim(wide / 2)}" fill="var(--{fill})" '
                f'stroke="var(--{line})" stroke-width="{thick}"/>'
            )
            svg.append(draw_text(x, y, str(seeds), 17, "ink"))
            svg.append(draw_text(x, 14 if row == 0 else 127, name, 13))
            found.append(PicturePlace(name, x - wide / 2, y - wide / 2, wide, wide))
    return PicturePart("".join(svg), 140, tuple(found))


def draw_stacks(
    upper: Sequence[tuple[str, str, int]],
    lower: Sequence[tuple[str, str, int]],
    bar: Sequence[tuple[str, int]],
    off: Sequence[tuple[str, int]],
    *,
    last: str = "",
) -> PicturePart:
    """Return a backgammon-style board: two rows of points, a bar in the middle, and borne-off checkers.

    A point is given as its name and the color and number of its checkers. `bar` and `off` have colors and numbers. All
    points, the bar and the borne-off area are places. `last` marks a move's points."""
    step, high = (WIDTH - 2) / (len(lower) + 2), 150.0
    half, r = len(lower) // 2, (WIDTH - 2) / (len(lower) + 2) * 0.44
    names = {name for name, _, _ in (*upper, *lower)} | {"bar", "off"}
    marked = set(find_places(last, names))
    svg = [draw_box(1, 18, WIDTH - 2, 2 * high, "square")]
    found: list[PicturePlace] = []
    for row, points in enumerate((upper, lower)):
        base, way = (19.0, 1) if row == 0 else (17 + 2 * high, -1)
        for place, (name, color, count) in enumerate(points):
            x = 1 + (place + (place >= half)) * step
            fill, line = ("mark", "mark-line") if name in marked else ("dark" if place % 2 else "square", "line")
            svg.append(
                f'<path d="M{trim(x + 1)} {trim(base)}h{trim(step - 2)}L{trim(x + step / 2)} '
                f'{trim(base + way * 118)}z" fill="var(--{fill})" stroke="var(--{line})"/>'
            )
            svg.append(draw_text(x + step / 2, 9 if row == 0 else 2 * high + 27, name, 12))
            svg += _draw_stack(x + step / 2, base, way, r, color, count)
            found.append(PicturePlace(name, x, 18 + row * high, step, high))
    for column, name, piles in ((half, "bar", bar), (len(lower) + 1, "off", off)):
        x = 1 + column * step
        svg.append(draw_box(x, 18, step, 2 * high, "dark"))
        svg.append(draw_text(x + step / 2, 9, name, 12))
        for way, (color, count) in zip((-1, 1), piles):
            svg += _draw_stack(x + step / 2, 18 + high + way * 40, way, r, color, count)
        found.append(PicturePlace(name, x, 18, step, 2 * high))
    return PicturePart("".join(svg), 2 * high + 36, tuple(found))


def _draw_stack(x: float, base: float, way: int, r: float, color: str, count: int) -> list[str]:
    """Return a stack of checkers that grows up or down from its base.

    It shows at most five, with a count if there are more."""
    shown = min(count, 5)
    drawn = [
        f'<circle cx="{trim(x)}" cy="{trim(base + way * (r + 1 + place * 2 * r))}" r="{trim(r)}" '
        f'fill="var(--{color})" stroke="var(--edge)"/>'
        for place in range(shown)
    ]
    if count > shown:
        drawn.append(draw_text(x, base + way * (r + 1 + (shown - 1) * 2 * r), str(count), 13, "square"))
    return drawn
