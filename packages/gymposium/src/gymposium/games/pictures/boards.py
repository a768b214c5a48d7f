"""Boards of squares, and of points joined by lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product

from gymposium.games.pictures.picture import (
    WIDTH,
    PicturePart,
    PicturePlace,
    draw_box,
    draw_copy,
    draw_text,
    find_places,
    trim,
)

_EDGE = 18.0
"""Width of the margin for row and column names."""


def draw_grid(
    rows: Sequence[Sequence[str]],
    pieces: Mapping[str, str],
    *,
    row_names: Sequence[str] = (),
    column_names: Sequence[str] = (),
    places: Sequence[Sequence[str]] | None = None,
    checkered: bool = False,
    crossings: bool = False,
    last: str | Collection[tuple[int, int]] = (),
    won: Iterable[Sequence[tuple[int, int]]] = (),
    blocks: int = 0,
    most: float = WIDTH,
) -> PicturePart:
    """Return a board of squares, top row first.

    `pieces` maps a square's content to its drawing in a unit square. Content without a drawing is left blank. Places
    are named by column and row (`b2`) if both have names, or by `places`, row by row. A square with an empty name is
    not a place. `crossings` puts the pieces on line crossings, as in go. `last` marks squares: those that a move names,
    or (column, row) pairs from the top left. `won` draws a line through the squares of each winning row. `blocks` is
    the number of squares between thick lines. The board is at most `most` units wide and high."""
    height, width = len(rows), max(map(len, rows))
    names = None if places is None else tuple(map(tuple, places))
    scale, x0, y0, frame, found = _draw_frame(
        width, height, tuple(row_names), tuple(column_names), names, checkered, crossings, most
    )
    thick = [f"M{x} 0V{height}M0 {x}H{width}" for x in range(blocks, width, blocks)] if blocks else []
    if isinstance(last, str):
        squares = {one.name: (round((one.x - x0) / scale), round((one.y - y0) / scale)) for one in found}
        marked = [squares[name] for name in dict.fromkeys(find_places(last, squares))]
    else:
        marked = [*last]
    standing = [(pieces[what], x, y) for y, row in enumerate(rows) for x, what in enumerate(row) if what in pieces]
    inside = [
        frame,
        *(
            f'<rect x="{x + 0.04}" y="{y + 0.04}" width=".92" height=".92" fill="var(--mark)" '
            f'stroke="var(--mark-line)" stroke-width="{trim(1.6 / scale)}"/>'
            for x, y in marked
        ),
        f'<path d="{"".join(thick)}" stroke="var(--ink)" stroke-width="{trim(3 / scale)}"/>' if thick else "",
        *(draw_copy(piece, x, y) for piece, x, y in standing),
        *(_draw_line([(x + 0.5, y + 0.5) for x, y in line], 0.13) for line in won),
    ]
    svg = f'<g transform="translate({trim(x0)} {trim(y0)}) scale({trim(scale)})">{"".join(inside)}</g>'
    below = _EDGE * bool(column_names)
    return PicturePart(svg, height * scale + below + 2, found, frozenset(piece for piece, _, _ in standing))


@lru_cache(maxsize=256)
def _draw_frame(
    width: int,
    height: int,
    row_names: tuple[str, ...],
    column_names: tuple[str, ...],
    names: tuple[tuple[str, ...], ...] | None,
    checkered: bool,
    crossings: bool,
    most: float,
) -> tuple[float, float, float, str, tuple[PicturePlace, ...]]:
    """Return the square size, the board's top left corner, the empty board, and its places."""
    left, below = _EDGE * bool(row_names), _EDGE * bool(column_names)
    scale = round(min((most - left - 2) / width, (most - below - 2) / height), 2)
    x0, y0 = (WIDTH - width * scale - left) / 2 + left, 1.0
    thin = trim(1.2 / scale)
    dark = "".join([f"M{x} {y}h1v1h-1z" for y, x in product(range(height), range(width)) if checkered and (x + y) % 2])
    if crossings:
        lines = [f"M{x + 0.5} .5V{height - 0.5}" for x in range(width)]
        lines += [f"M.5 {y + 0.5}H{width - 0.5}" for y in range(height)]
    else:
        lines = [f"M{x} 0V{height}" for x in range(width + 1)] + [f"M0 {y}H{width}" for y in range(height + 1)]
    small = min(13 / scale, 0.9)
    svg = [
        f'<rect width="{width}" height="{height}" fill="var(--square)" stroke="var(--line)" stroke-width="{thin}"/>',
        f'<path d="{dark}" fill="var(--dark)"/>' if dark else "",
        f'<path d="{"".join(lines)}" stroke="var(--line)" stroke-width="{thin}"/>',
        *(draw_text(-left / 2 / scale, y + 0.5, name, small) for y, name in enumerate(row_names)),
        *(draw_text(x + 0.5, height + below / 2 / scale, name, small) for x, name in enumerate(column_names)),
    ]
    if names is None:
        named = row_names and column_names
        names = tuple([tuple([f"{column}{row}" for column in column_names]) for row in row_names]) if named else ()
    found = [
        PicturePlace(name, x0 + x * scale, y0 + y * scale, scale, scale)
        for y, row in enumerate(names)
        for x, name in enumerate(row)
        if name
    ]
    return scale, x0, y0, "".join(svg), tuple(found)


def find_line(rows: Sequence[Sequence[str]], length: int, *, empty: str = ".") -> list[tuple[int, int]]:
    """Return the squares of a line of `length` or more equal pieces, as (column, row), or [].

    Lines run across, down and diagonally."""
    height, width = len(rows), len(rows[0])
    for y, x in product(range(height), range(width)):
        if rows[y][x] == empty:
            continue
        for dx, dy in ((1, 0), (0, 1), (1, 1), (-1, 1)):
            line = [(x, y)]
            while True:
                nx, ny = line[-1][0] + dx, line[-1][1] + dy
                if not (0 <= nx < width and ny < height and rows[ny][nx] == rows[y][x]):
                    break
                line.append((nx, ny))
            if len(line) >= length:
                return line
    return []


def draw_points(
    at: Mapping[str, tuple[float, float]],
    lines: Iterable[tuple[str, str]],
    pieces: Mapping[str, str],
    *,
    last: str = "",
    won: Sequence[str] = (),
    size: float = 34.0,
    told: bool = True,
) -> PicturePart:
    """Return a board of points joined by lines.

    `at` has each point's column and row from the top left, `lines` the pairs of joined points, and `pieces` the drawing
    for each kind of piece. All points are places. `last` marks a move's points, and `won` draws a line through the
    points of a winning row. `size` is the size of a piece. With `told`, each empty point is labeled with its name."""
    widest, highest = max(x for x, _ in at.values()), max(y for _, y in at.values())
    step = (WIDTH - size - 4) / max(widest, highest, 1)
    x0 = (WIDTH - widest * step) / 2
    middles = {name: (x0 + x * step, size / 2 + 2 + y * step) for name, (x, y) in at.items()}
    drawn = "".join([f"M{_format_point(middles[a])}L{_format_point(middles[b])}" for a, b in lines])
    svg = [
        draw_box(1, 1, WIDTH - 2, highest * step + size + 2, "square"),
        f'<path d="{drawn}" stroke="var(--line)" stroke-width="1.6"/>',
    ]
    for name in dict.fromkeys(find_places(last, middles)):
        x, y = middles[name]
        svg.append(
            f'<circle cx="{trim(x)}" cy="{trim(y)}" r="{trim(size * 0.56)}" fill="var(--mark)" '
            f'stroke="var(--mark-line)" stroke-width="2"/>'
        )
    for name, (x, y) in middles.items():
        if name in pieces:
            svg.append(draw_copy(pieces[name], x - size / 2, y - size / 2, size))
            continue
        svg.append(f'<circle cx="{trim(x)}" cy="{trim(y)}" r="3.4" fill="var(--line)"/>')
        if told:
            svg.append(draw_text(x + 10, y + 10, name, 11))
    svg.append(_draw_line([middles[name] for name in won], 5))
    found = [PicturePlace(name, x - size / 2, y - size / 2, size, size) for name, (x, y) in middles.items()]
    return PicturePart("".join(svg), highest * step + size + 4, tuple(found), frozenset(pieces.values()))


def _format_point(point: tuple[float, float]) -> str:
    return f"{trim(point[0])} {trim(point[1])}"


def _draw_line(line: Sequence[tuple[float, float]], thick: float) -> str:
    """Return markup for the line from the first to the last of these points, or "" without points."""
    if not line:
        return ""
    path = "L".join(map(_format_point, line))
    return f'<path d="M{path}" fill="none" stroke="var(--won)" stroke-width="{thick}" stroke-linecap="round"/>'


def draw_walled_board(board: PicturePart, walls: Collection[str], size: int, *, last: str = "") -> PicturePart:
    """Return a board with walls. `board` comes from `grid`, with places named by letters and numbers from the bottom.

    A wall is two squares long: `a1h` lies above a1 and b1, `a1v` to the right of a1 and a2. All walls are places. The
    wall named `last` is marked."""
    squares = {place.name: place for place in board.places}
    svg: list[str] = []
    found: list[PicturePlace] = []
    for place in board.places:
        column, row, side = ord(place.name[0]) - ord("a"), int(place.name[1:]), place.width
        if column == size - 1 or row == size:
            continue
        for way in "hv":
            across = way == "h"
            x, y = (place.x, place.y) if across else (place.x + side, squares[f"{place.name[0]}{row + 1}"].y)
            long, thin = 2 * side, min(side * 0.26, 11.0)
            name = place.name + way
            if name in walls:
                fill = "mark-line" if name == last else "ink"
                shape = (x + 2, y - thin / 2, long - 4, thin) if across else (x - thin / 2, y + 2, thin, long - 4)
                svg.append(draw_box(*shape, fill, fill))
            # a wall's place is its first half, so that neighboring walls do not overlap
            half = (x + 3, y - thin, side - 6, 2 * thin) if across else (x - thin, y + side + 3, 2 * thin, side - 6)
            found.append(PicturePlace(name, *half))
    return PicturePart(board.svg + "".join(svg), board.height, (*board.places, *found), board.drawings)


def draw_edges(
    boxes: Sequence[Sequence[str]],
    owners: Mapping[str, str],
    drawn: Collection[str],
    *,
    names: Collection[str],
    last: str = "",
) -> PicturePart:
    """Return a board of dots with lines between them, as in dots and boxes.

    A line is named by the dots that it joins: `a1b1`, from a1 at the top left. `names` has all lines. Each is a place.
    `drawn` has the lines drawn so far, and `last` those from the last turn. `boxes` has each box's owner, and
    `owners` has the drawing for each owner."""
    height, width = len(boxes), max(map(len, boxes))
    step = min((WIDTH - 44) / width, (WIDTH - 44) / height, 90)
    x0, y0 = (WIDTH - width * step) / 2 + 8, 24.0
    new = set(find_places(last, names)) | set(last.split())
    svg: list[str] = []
    found: list[PicturePlace] = []
    standing = [(owners[who], x, y) for y, row in enumerate(boxes) for x, who in enumerate(row) if who in owners]
    svg += [draw_copy(piece, x0 + x * step, y0 + y * step, step) for piece, x, y in standing]
    for name in names:
        x, y = x0 + (ord(name[0]) - ord("a")) * step, y0 + (int("".join(filter(str.isdecimal, name[1:3]))) - 1) * step
        across = name[0] != next(letter for letter in name[1:] if letter.isalpha())
        end = f"h{trim(step)}" if across else f"v{trim(step)}"
        if name in drawn:
            color, thick = ("mark-line", 6) if name in new else ("ink", 4)
            svg.append(f'<path d="M{trim(x)} {trim(y)}{end}" stroke="var(--{color})" stroke-width="{thick}"/>')
        else:
            svg.append(f'<path d="M{trim(x)} {trim(y)}{end}" stroke="var(--line)" stroke-dasharray="2 5"/>')
        near = min(12.0, step * 0.25)
        place = (
            (x + near, y - near, step - 2 * near, 2 * near)
            if across
            else (x - near, y + near, 2 * near, step - 2 * near)
        )
        found.append(PicturePlace(name, *place))
    for x in range(width + 1):
        svg.append(draw_text(x0 + x * step, 9, chr(ord("a") + x), 13))
        svg += [
            f'<circle cx="{trim(x0 + x * step)}" cy="{trim(y0 + y * step)}" r="5" fill="var(--ink)"/>'
            for y in range(height + 1)
        ]
    svg += [draw_text(x0 - 18, y0 + y * step, str(y + 1), 13) for y in range(height + 1)]
    return PicturePart(
        "".join(svg), y0 + height * step + 10, tuple(found), frozenset(piece for piece, _, _ in standing)
    )
