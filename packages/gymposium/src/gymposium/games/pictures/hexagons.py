"""Boards of hexagonal cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gymposium.games.pictures.picture import WIDTH, PicturePart, PicturePlace, draw_text, find_places, trim


def draw_hexes(
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

    `stones` maps the content of a cell to its stone's color (`one`, `two`, `black`, `white`). A row begins `starts`
    cells from the left. `names` has each cell's name, and every cell is a place. `last` is the last move. With `won`,
    its stone and all stones connected to it are marked. `sides` has the cells along the sides that each player must
    connect, by the player's color."""
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
    marked = find_places(last, middles)
    chain = _find_chain(middles, content, marked, across) if won else []
    half = across / 2
    turns = [(half, r / 2), (0.0, r), (-half, r / 2), (-half, -r / 2), (0.0, -r)]
    shape = f"m0 {trim(-r)}{''.join([f'l{trim(dx)} {trim(dy)}' for dx, dy in turns])}z"
    cell = f"cell-{trim(across)}".replace(".", "-")
    svg = [
        f'<defs><path id="{cell}" d="{shape}"/></defs>',
        _draw_cells(cell, middles.values(), 'fill="var(--square)" stroke="var(--line)" stroke-width="1.2"'),
    ]
    for what, along in (sides or {}).items():
        svg.append(_draw_cells(cell, [middles[n] for n in along], f'fill="var(--{stones[what]})" fill-opacity=".22"'))
    if marked:
        lit = 'fill="var(--mark)" stroke="var(--mark-line)" stroke-width="2"'
        svg.append(_draw_cells(cell, [middles[n] for n in marked], lit))
    thick = across * 0.68
    standing = {what: [at for name, at in middles.items() if content[name] == what] for what in stones}
    svg += [_draw_dots(at, thick + 1.6, "edge") for at in standing.values()]
    svg.append(_draw_dots([middles[name] for name in chain], thick + 6, "won"))
    svg += [_draw_dots(at, thick, stones[what]) for what, at in standing.items()]
    size = min(11.0, across * 0.42)
    if size > 8:
        ends = dict.fromkeys(name for row in names for name in (row[0], row[-1]) if content[name] not in stones)
        svg += [draw_text(*middles[name], name, size) for name in ends]
    found = [PicturePlace(name, x - half, y - r * 0.75, across, r * 1.5) for name, (x, y) in middles.items()]
    return PicturePart("".join(svg), 2 * r + 2 + (len(rows) - 1) * down, tuple(found))


def _draw_cells(cell: str, at: Iterable[tuple[float, float]], look: str) -> str:
    """Return markup for cells centered at these points. It is compact, because a board has many cells."""
    uses = [f'<use href="#{cell}" x="{x:.1f}" y="{y:.1f}"/>' for x, y in at]
    return f"<g {look}>{''.join(uses)}</g>"


def _draw_dots(at: Sequence[tuple[float, float]], size: float, color: str) -> str:
    """Return markup for round dots of one color: zero-length lines with round ends."""
    path = "".join([f"M{x:.1f} {y:.1f}h0" for x, y in at])
    look = f'fill="none" stroke="var(--{color})" stroke-width="{trim(size)}" stroke-linecap="round"'
    return f'<path d="{path}" {look}/>' if path else ""


def _find_chain(
    middles: Mapping[str, tuple[float, float]], content: Mapping[str, str], begin: Sequence[str], across: float
) -> list[str]:
    """Return the cells connected to the first of these cells by stones of the same color."""
    chain, ends = [*begin], [*begin]
    while ends:
        x, y = middles[one := ends.pop()]
        for name, (nx, ny) in middles.items():
            if name not in chain and content[name] == content[one] and (nx - x) ** 2 + (ny - y) ** 2 < 1.3 * across**2:
                chain.append(name)
                ends.append(name)
    return chain
