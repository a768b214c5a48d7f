"""Tables as described by their `CREATE TABLE` statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_CREATE = re.compile(r"CREATE TABLE (\w+) \((.*)\)")
_DECLARATION = re.compile(r"(\w+) (\w+)(?: REFERENCES (\w+)\(id\)| PRIMARY KEY)?")


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table's name, columns and references."""

    name: str
    columns: Mapping[str, str]
    """Names and types."""
    references: Mapping[str, str]
    """Columns that reference other tables, by table."""

    @property
    def plural(self) -> str:
        """Return the table's name in words."""
        return self.name.replace("_", " ")

    @property
    def nouns(self) -> tuple[str, str, str]:
        """Return the possible nouns for one row: the plural without -s or -es, or with -y for -ies."""
        return self.plural[:-1], self.plural[:-2], f"{self.plural[:-3]}y"

    @property
    def label(self) -> str:
        """Return the full name of the label column, which is the first text column."""
        return f"{self.name}.{next(name for name, kind in self.columns.items() if kind == 'TEXT')}"

    def find_column(self, words: str) -> str | None:
        """Return the full name of the column that the words name, or None."""
        name = words.replace(" ", "_")
        return f"{self.name}.{name}" if name in self.columns else None


Shapes = Mapping[str, TableShape]
"""Tables by name."""


def read_shapes(lines: Iterable[str]) -> Shapes:
    """Return the tables of the `CREATE TABLE` statements among some lines."""
    found = {}
    for line in lines:
        if (create := _CREATE.match(line)) is not None:
            parts = [part for one in create[2].split(", ") if (part := _DECLARATION.fullmatch(one)) is not None]
            columns = {part[1]: part[2] for part in parts}
            found[create[1]] = TableShape(create[1], columns, {part[3]: part[1] for part in parts if part[3]})
    return found
