"""Databases as the generator sees them: tables with their rows."""

from __future__ import annotations

from dataclasses import dataclass

from gymposium_worlds.tables.entities import Kind

Value = int | float | str | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A table column."""

    name: str
    kind: Kind
    target: str = ""
    """The table that a reference column points to."""

    @property
    def phrase(self) -> str:
        """Return the column's name in questions: `list price`."""
        return self.name.replace("_", " ")

    @property
    def declaration(self) -> str:
        """Return the column's declaration in `CREATE TABLE`."""
        match self.kind:
            case "id":
                return f"{self.name} INTEGER PRIMARY KEY"
            case "reference":
                return f"{self.name} INTEGER REFERENCES {self.target}(id)"
            case "integer":
                return f"{self.name} INTEGER"
            case "decimal":
                return f"{self.name} REAL"
            case _:
                return f"{self.name} TEXT"


@dataclass(frozen=True, slots=True)
class Table:
    """A table, its rows, and names and columns that it does not contain."""

    name: str
    """The table's name, a plural: `list_items`."""
    noun: str
    """The noun for one row, as words."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    absent_labels: tuple[str, ...]
    """Names that no row has."""
    absent_columns: tuple[str, ...]
    """Phrases for columns that no table has."""

    @property
    def plural(self) -> str:
        """Return the noun for several rows, as words."""
        return self.name.replace("_", " ")

    def select_columns(self, *kinds: Kind) -> list[Column]:
        """Return the columns of these kinds."""
        return [column for column in self.columns if column.kind in kinds]

    def find_place(self, kind: Kind, target: str = "") -> int:
        """Return the index of the only column of a kind. For references, it is the column that points to `target`."""
        (place,) = (n for n, one in enumerate(self.columns) if (one.kind, one.target) == (kind, target))
        return place

    @property
    def create(self) -> str:
        """Return the SQL that creates the table."""
        return f"CREATE TABLE {self.name} ({', '.join(column.declaration for column in self.columns)})"


@dataclass(frozen=True, slots=True)
class Database:
    """A database with four tables. A subject belongs to a place, and an event to a subject and an item."""

    place: Table
    subject: Table
    item: Table
    event: Table

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables. Each comes after the tables that it references."""
        return self.place, self.subject, self.item, self.event


def pluralize(noun: str) -> str:
    """Return the plural of a regular noun: `branches`, `countries`, `loans`."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
