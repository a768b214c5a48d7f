"""Printing for the commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gymposium.util.visible import visible


class VisibleConsole(Console):
    """A console that makes control characters visible in all strings, even in table cells.

    The name of a file or a player may contain an escape sequence."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text with each control character as a visible symbol."""
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print like rich, except for tables that are too wide, where rich would truncate words and numbers.

        Such a table is printed row by row, with one cell per line."""
        for table in objects if len(objects) == 1 else ():
            if isinstance(table, Table) and _compute_least_width(self, table) > self.width:
                objects = (_stack_table(self, table),)
        super().print(*objects, **options)


def _compute_least_width(console: Console, table: Table) -> int:
    """Return a table's minimum width, breaking words only in columns that fold."""
    wide = console.options.update(width=10_000)

    def find_widest(*cells: Any) -> int:
        return max(Measurement.get(console, wide, cell).minimum for cell in cells)

    folded = [column for column in table.columns if column.overflow == "fold"]
    saved = sum(find_widest(column.header, *column.cells) - find_widest(column.header) for column in folded)
    return Measurement.get(console, wide, table).minimum - saved


def _stack_table(console: Console, table: Table) -> Group:
    """Stack a table's cells, each after its column heading, with an empty line between rows."""
    lines: list[Any] = [] if table.title is None else [table.title]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for column, cell in zip(table.columns, row, strict=True):
            parts = [console.render_str(part) if isinstance(part, str) else part for part in (column.header, cell)]
            heading, value = parts if table.show_header else ("", parts[1])
            if isinstance(heading, Text) and isinstance(value, Text) and heading and value:
                lines.append(Text(": ").join([heading, value]))
            elif value:
                lines += [heading, value] if heading else [value]
        lines.append("")
    return Group(*lines[:-1])


def make_stdout_console() -> Console:
    """Return a console on stdout, for results.

    It is created on each use, so it writes to the current stdout. In a file or a pipe, each table row is one line,
    unless the environment variable `COLUMNS` sets a width."""
    console = VisibleConsole(highlight=False, markup=False)
    if not (console.is_terminal or os.environ.get("COLUMNS")):
        console.width = 10_000
    return console


_displaying: list[Console] = []
"""The stderr console of the live display, if one is shown."""


def make_stderr_console() -> Console:
    """Return a console on stderr, for progress, notes and errors.

    While a live display is shown, its console is returned, so output appears above the display."""
    return _displaying[-1] if _displaying else VisibleConsole(stderr=True, highlight=False, markup=False)


@contextmanager
def use_display(console: Console) -> Iterator[None]:
    """Make `stderr_console` return this console, which shows a live display, within the block.

    Rich separates output from a live display only on the display's own console."""
    _displaying.append(console)
    try:
        yield
    finally:
        _displaying.remove(console)


@contextmanager
def show_status(message: str) -> Iterator[None]:
    """Show a spinner with this text on a terminal while the block runs."""
    console = make_stderr_console()
    if not console.is_terminal or _displaying:
        yield
        return
    with use_display(console), console.status(Text(visible(message))):
        yield


def print_error(message: str) -> None:
    """Print an error on one line, for easy copying."""
    make_stderr_console().print(Text.assemble(("error: ", "bold red"), visible(message)), soft_wrap=True)


def print_note(message: str) -> None:
    """Print a note for the user that is not a result."""
    make_stderr_console().print(Text(visible(message), style="dim"), soft_wrap=True)


def print_text(console: Console, text: str, style: str | None = None) -> None:
    """Print text with visible control characters. A terminal wraps long lines between words."""
    console.print(visible(text), style=style, soft_wrap=not console.is_terminal)


def replace_nonfinite(data: Any) -> Any:
    """Return plain data for JSON, with None for NaN and infinity."""
    if isinstance(data, Mapping):
        return {str(key): replace_nonfinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [replace_nonfinite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def format_return(value: float) -> str:
    """Format a return with its sign: `+1`, `-0.5`, `0`."""
    return "0" if value == 0 else f"{value:+g}"
