"""Generator of databases: it draws a theme, names of tables and columns, and rows."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

from gymposium.util.streams import Draw, stream
from gymposium_worlds.tables.database import Column, Database, Row, Table, Value, pluralize
from gymposium_worlds.tables.entities import Entity, RowAttribute
from gymposium_worlds.tables.themes import THEMES

MIN_ROWS, MAX_ROWS = 20, 400
"""Bounds on the number of rows in the largest table. With more rows, ordinary queries could exceed the step limit."""
_FIRST_DAY = dt.date(2019, 1, 1)
_DAYS = 6 * 365
_MISSING = 0.15
"""Probability that a row has no contact."""
_ABSENT = 6
"""Number of names that each table reserves as absent."""


@lru_cache(maxsize=64)  # the matches of a group share their database
def make_database(world: str, rows: int) -> Database:
    """Generate the database named `world` (`train-17`), with this number of rows in its largest table."""
    draw = Draw(stream(rows, "tables", world))
    theme = draw.pick(THEMES)
    people, items = max(8, rows // 4), max(8, rows // 5)
    place = _make_table(theme.place, draw.between(5, 8), (), draw)
    subject = _make_table(theme.subject, people, (place,), draw)
    item = _make_table(theme.item, items, (), draw)
    return Database(place, subject, item, _make_table(theme.event, rows, (subject, item), draw))


def _make_table(entity: Entity, size: int, targets: tuple[Table, ...], draw: Draw) -> Table:
    noun = draw.pick(entity.nouns)
    attributes = [*entity.fixed, *draw.some(entity.optional, draw.between(1, len(entity.optional)))]
    columns = [Column("id", "id")]
    values: list[list[Value]] = [list(range(1, size + 1))]
    absent: tuple[str, ...] = ()
    if entity.labels:
        labels = draw.some(entity.names, size + _ABSENT)
        columns.append(Column(draw.pick(entity.labels), "label"))
        values.append(list(labels[:size]))
        absent = tuple(labels[size:])
    for target in targets:
        columns.append(Column(f"{target.noun.replace(' ', '_')}_id", "reference", target.name))
        values.append([1 + _draw_skewed(len(target.rows), draw) for _ in range(size)])
    for attribute in attributes:
        columns.append(Column(draw.pick(attribute.names), attribute.kind))
        values.append(_draw_values(attribute, size, draw))
    rows: tuple[Row, ...] = tuple(zip(*values, strict=True))
    return Table(pluralize(noun), noun.replace("_", " "), tuple(columns), rows, absent, entity.absent)


def _draw_values(attribute: RowAttribute, size: int, draw: Draw) -> list[Value]:
    match attribute.kind:
        case "category":
            options = draw.some(attribute.values, draw.between(3, len(attribute.values)))
            return [options[_draw_skewed(len(options), draw)] for _ in range(size)]
        case "integer":
            return [draw.between(attribute.low, attribute.high) for _ in range(size)]
        case "decimal":
            return [draw.between(attribute.low * 4, attribute.high * 4) / 4 for _ in range(size)]
        case "date":
            return [(_FIRST_DAY + dt.timedelta(draw.below(_DAYS))).isoformat() for _ in range(size)]
        case _:
            return [None if draw.chance(_MISSING) else _draw_contact(n, draw) for n in range(size)]


def _draw_contact(n: int, draw: Draw) -> str:
    """Return a telephone number, distinct for each `n` below 1000."""
    return f"{n:03}-{draw.below(10_000):04}"


def _draw_skewed(n: int, draw: Draw) -> int:
    """Draw an integer from 0 to n - 1. Small integers are more likely."""
    return min(draw.below(n), draw.below(n)) if draw.chance(0.5) else draw.below(n)
