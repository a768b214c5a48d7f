"""Query plans of questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium.errors import GymposiumError
from gymposium_worlds.tables.reading.conditions import quote_text, translate_condition
from gymposium_worlds.tables.reading.patterns import PATTERNS
from gymposium_worlds.tables.reading.shapes import Shapes, TableShape


class UnknownForm(GymposiumError):
    """Error for words without a known form."""


class MissingColumn(GymposiumError):
    """Error for a question about something that no table has a column for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Query plan of a question."""

    kind: Literal["value", "count", "sum", "average", "extreme", "common"]
    value: str
    """The expression that is looked up, counted, added up, or compared."""
    source: str
    """The query from FROM on."""
    places: int | None = None
    """Number of decimals, if the question asks for it."""
    label: str = ""
    """The expression that names the winner of a comparison."""
    descending: bool = True


_LEAST = ("lowest", "smallest", "earliest", "first", "least", "fewest")


def read_question(text: str, shapes: Shapes) -> Plan:
    """Return the plan of a question about these tables. Raises `UnknownForm` or `MissingColumn`."""
    for form, pattern in PATTERNS:
        if (found := pattern.fullmatch(text)) is not None:
            try:
                return _ParsedQuestion(found, shapes).plan(form)
            except UnknownForm:  # the words match this form by accident
                continue
    raise UnknownForm(f"No known form of question: {text[:200]!r}.")


class _ParsedQuestion:
    """A question that has a form, and its parts."""

    def __init__(self, found: re.Match[str], shapes: Shapes) -> None:
        self._words = {name: words for name, words in found.groupdict().items() if words is not None}
        self._shapes = shapes

    def plan(self, form: str) -> Plan:
        places = int(self._words["places"]) if "places" in self._words else None
        descending = self._words.get("most") not in _LEAST
        match form:
            case "named":
                table = self._table("noun")
                return Plan("value", self._column(table), self._source([table], self._named(table)))
            case "numbered":
                table = self._table("noun")
                return Plan("value", self._column(table), self._source([table], self._numbered(table)))
            case "reverse":
                table = self._table("noun")
                same = f"{self._column(table)} = {quote_text(self._words['name'])}"
                return Plan("value", table.label, self._source([table], same))
            case "owner":
                table, owner = self._table("noun"), self._table("owner")
                return Plan("value", self._column(owner), self._source([table, owner], self._numbered(table)))
            case "extreme":
                table = self._table("plural" if "plural" in self._words else "noun")
                value, source = self._column(table), self._source([table], self._where(table))
                return Plan("extreme", value, source, label=table.label, descending=descending)
            case "common":
                table = self._table("plural")
                value = self._column(table)
                return Plan("common", value, self._source([table]), label=value, descending=descending)
            case "most":
                table, owner = self._table("plural"), self._table("noun")
                return Plan("common", f"{owner.name}.id", self._source([table, owner]), label=owner.label)
            case _:
                return self._total(form, places)

    def _total(self, form: str, places: int | None) -> Plan:
        """Return the plan of a count, a sum or an average."""
        table = self._table("plural")
        kind, _, how = form.partition("_")
        value = "*" if kind == "count" else self._column(table)
        if how == "":
            source = self._source([table], self._where(table))
        elif how == "owned":
            owner = self._table("owners" if "owners" in self._words else "noun")
            source = self._source([table, owner], self._named(owner) or self._where(owner))
        elif how == "place":
            owner, place = self._table("owners"), self._table("noun")
            source = self._source([table, owner, place], self._named(place))
        elif how == "both":
            one, other = self._table("owners"), self._table("others")
            source = self._source([table, one, other], self._where(one), self._where(other, "other_where"))
        elif how == "different":
            owner = self._table("noun")
            value = f"DISTINCT {table.name}.{table.references[self._table('others').name]}"
            source = self._source([table, owner], self._named(owner))
        else:
            owner, other = self._table("noun"), self._table("other_noun")
            value = f"{value} * {self._column(other, 'other_column')}"
            source = self._source([table, owner, other], self._named(owner))
        kinds: dict[str, Literal["count", "sum", "average"]] = {"count": "count", "sum": "sum", "average": "average"}
        return Plan(kinds[kind], value, source, places)

    def _table(self, part: str) -> TableShape:
        words = self._words[part]
        found = next((one for one in self._shapes.values() if words in (one.plural, *one.nouns)), None)
        if found is None:
            raise UnknownForm(f"No table has rows called {words!r}.")
        return found

    def _column(self, table: TableShape, part: str = "column") -> str:
        if (column := table.column(self._words[part])) is None:
            raise MissingColumn(f"{table.name} has no column for {self._words[part]!r}.")
        return column

    def _named(self, table: TableShape) -> str:
        return f"{table.label} = {quote_text(self._words['name'])}" if "name" in self._words else ""

    def _numbered(self, table: TableShape) -> str:
        return f"{table.name}.id = {self._words['id']}"

    def _where(self, table: TableShape, part: str = "where") -> str:
        return translate_condition(self._words[part], table) if part in self._words else ""

    def _source(self, tables: Sequence[TableShape], *conditions: str) -> str:
        """Return the query from FROM on. Each table after the first is joined to an earlier one."""
        joins = [f"FROM {tables[0].name}"]
        for n, table in enumerate(tables[1:], start=1):
            other = next(one for one in tables[:n] if table.name in one.references)
            joins.append(f"JOIN {table.name} ON {other.name}.{other.references[table.name]} = {table.name}.id")
        where = " AND ".join(condition for condition in conditions if condition)
        return " ".join(joins) + (f" WHERE {where}" if where else "")
