"""Boards of hexagonal cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gymposium.games.pictures.picture import WIDTH, PicturePart, PicturePlace, number, places_of, text


def hexes(
    rows: Sequence[Sequence[str]],
    stones: Mapping[str, str],
    *,
    starts: Sequence[float],
    names: Sequence[Sequence[str]],
    last: str = "",
    sides: Mapping[str, Sequence[str]] | None = None,
    won: bool = False,
    most: float = WIDTH,
) -> PicturePart:
    """Return a board of hexagonal cells, row by row from the top.

    `stones` maps the content of a cell to the colour of its stone (`one`, `two`, `black`, `white`). A row begins
    `starts` cells from the left. `names` has the name of each cell, which is its place. `last` is the last move; with
    `won` its stone and those joined to it are marked. `sides` has the cells along the sides that each content has to
    join, in its colour."""
    wide = max(start + len(row) for start, row in zip(starts, rows))
    across = min(most / wide, 64.0)
    r, down = across / 3**0.5, across / 3**0.5 * 1.5
    x0 = (WIDTH - wide * across) / 2
    middles = {
        name: (x0 + (start + x + 0.5) * across, r + 1 + y * down)
        for y, (start, row) in enumerate(zip(starts, names))
        for x, name in enumerate(row)
    }
    content = {name: what for row, cells in zip(names, rows) for name, what in zip(row, cells)}
    marked = places_of(last, middles)
    chain = _chain(middles, content, marked, across) if won else set()
    half = across / 2
    turns = [(half, r / 2), (0.0, r), (-half, r / 2), (-half, -r / 2), (0.0, -r)]
    corner = f"m0 {number(-r)}{''.join([f'l{number(dx)} {number(dy)}' for dx, dy in turns])}z"
    cells = "".join([f"M{number(x)} {number(y)}{corner}" for x, y in middles.values()])
    svg = [f'<path d="{cells}" fill="var(--square)" stroke="var(--line)" stroke-width="1.2"/>']
    for what, along in (sides or {}).items():
        ticks = "".join([f"M{number(middles[n][0])} {number(middles[n][1])}{corner}" for n in along])
        tint = f'fill="var(--{stones[what]})" fill-opacity=".22"'
        svg.append(f'<path d="{ticks}" {tint} stroke="var(--line)" stroke-width="1.2"/>')
    if marked:
        lit = "".join([f"M{number(middles[n][0])} {number(middles[n][1])}{corner}" for n in marked])
        svg.append(f'<path d="{lit}" fill="var(--mark)" stroke="var(--mark-line)" stroke-width="2"/>')
    for name, (x, y) in middles.items():
        if content[name] in stones:
            line = ("won", 3) if name in chain else ("edge", 0.8)
            svg.append(
                f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(across * 0.34)}" '
                f'fill="var(--{stones[content[name]]})" stroke="var(--{line[0]})" stroke-width="{line[1]}"/>'
            )
    size = min(11.0, across * 0.42)
    for row in names:
        svg += [
            text(*middles[name], name, size) for name in {row[0], row[-1]} if content[name] not in stones and size > 8
        ]
    found = [PicturePlace(name, x - half, y - r * 0.75, across, r * 1.5) for name, (x, y) in middles.items()]
    return PicturePart("".join(svg), 2 * r + 2 + (len(rows) - 1) * down, tuple(found))


def _chain(
    middles: Mapping[str, tuple[float, float]], content: Mapping[str, str], begin: Sequence[str], across: float
) -> set[str]:
    """Return the cells that equal stones join to the first of some cells."""
    chain, ends = set(begin), [*begin]
    while ends:
        x, y = middles[one := ends.pop()]
        for name, (nx, ny) in middles.items():
            if name not in chain and content[name] == content[one] and (nx - x) ** 2 + (ny - y) ** 2 < 1.3 * across**2:
                chain.add(name)
                ends.append(name)
    return chain
