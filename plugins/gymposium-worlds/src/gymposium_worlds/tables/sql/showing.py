"""Rows as text."""

from __future__ import annotations

import re

from gymposium.util.visible import visible
from gymposium_worlds.tables.sql.queries import Cell, Rows

SHOWN_ROWS = 50
"""Maximum number of rows shown."""
SHOWN_CELL, SHOWN_LINE = 300, 1_900
"""Maximum number of characters shown of a cell and of a line. A longer one is cut off and ends with `…`."""
SHOWN_TEXT = 4_000
"""Maximum number of characters in a result."""
_WHOLE = re.compile(r"-?[0-9]+")


def format_rows(result: Rows) -> str:
    """Return the rows as lines, between a line of column names and a line with their number."""
    lines = [_format_line(result.columns), *(_format_line(row) for row in result.rows[:SHOWN_ROWS])]
    while len(text := "\n".join([*lines, _format_footer(result, len(lines) - 1)])) > SHOWN_TEXT:
        lines.pop()
    return text


def _format_line(cells: tuple[Cell, ...]) -> str:
    return _truncate(" | ".join(map(format_cell, cells)), SHOWN_LINE)


def _format_footer(result: Rows, count: int) -> str:
    if not result.is_complete:
        return f"({count} of more than {len(result.rows):,} rows are shown)"
    if count < len(result.rows):
        return f"({count} of {len(result.rows):,} rows are shown)"
    return "(1 row)" if count == 1 else f"({count} rows)" if count else "(no rows)"


def format_cell(cell: Cell) -> str:
    """Return a cell as one line. Floats have 12 digits and always a decimal point, text has no line breaks or invisible
    characters, and blobs are hexadecimal.
    """
    match cell:
        case None:
            return "NULL"
        case float():
            text = f"{cell + 0.0:.12g}"  # -0.0 becomes 0.0
            return f"{text}.0" if _WHOLE.fullmatch(text) else text
        case int():
            return str(cell)
        case str():
            text = visible(cell).replace("\n", "␊").replace("\t", "␉")
            return _truncate(text, SHOWN_CELL)
        case bytes():
            return _truncate(f"x'{cell.hex()}'", SHOWN_CELL)


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
