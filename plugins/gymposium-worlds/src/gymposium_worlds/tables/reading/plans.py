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
    """Error for text that matches no known question form."""


class MissingColumn(GymposiumError):
    """Error for a question about a column that no table has."""


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
                return _ParsedQuestion(found, shapes).make_plan(form)
            except UnknownForm:  # the words match this form by accident
                continue
    raise UnknownForm(f"No known form of question: {text[:200]!r}.")


class _ParsedQuestion:
    """The named parts of a question that matches a form."""

    def __init__(self, found: re.Match[str], shapes: Shapes) -> None:
        self._words = {name: words for name, words in found.groupdict().items() if words is not None}
        self._shapes = shapes

    def make_plan(self, form: str) -> Plan:
        places = int(self._words["places"]) if "places" in self._words else None
        descending = self._words.get("most") not in _LEAST
        match form:
            case "named":
                table = self._find_table("noun")
                return Plan("value", self._find_column(table), self._join_tables([table], self._match_name(table)))
            case "numbered":
                table = self._find_table("noun")
                return Plan("value", self._find_column(table), self._join_tables([table], self._match_id(table)))
            case "reverse":
                table = self._find_table("noun")
                same = f"{self._find_column(table)} = {quote_text(self._words['name'])}"
                return Plan("value", table.label, self._join_tables([table], same))
            case "owner":
                table, owner = self._find_table("noun"), self._find_table("owner")
                return Plan("value", self._find_column(owner), self._join_tables([table, owner], self._match_id(table)))
            case "extreme":
                table = self._find_table("plural" if "plural" in self._words else "noun")
                value, source = self._find_column(table), self._join_tables([table], self._match_condition(table))
                return Plan("extreme", value, source, label=table.label, descending=descending)
            case "common":
                table = self._find_table("plural")
                value = self._find_column(table)
                return Plan("common", value, self._join_tables([table]), label=value, descending=descending)
            case "most":
                table, owner = self._find_table("plural"), self._find_table("noun")
                return Plan("common", f"{owner.name}.id", self._join_tables([table, owner]), label=owner.label)
            case _:
                return self._plan_total(form, places)

    def _plan_total(self, form: str, places: int | None) -> Plan:
        """Return the plan of a count, a sum or an average."""
        table = self._find_table("plural")
        kind, _, how = form.partition("_")
        value = "*" if kind == "count" else self._find_column(table)
        if how == "":
            source = self._join_tables([table], self._match_condition(table))
        elif how == "owned":
            owner = self._find_table("owners" if "owners" in self._words else "noun")
            source = self._join_tables([table, owner], self._match_name(owner) or self._match_condition(owner))
        elif how == "place":
            owner, place = self._find_table("owners"), self._find_table("noun")
            source = self._join_tables([table, owner, place], self._match_name(place))
        elif how == "both":
            one, other = self._find_table("owners"), self._find_table("others")
            source = self._join_tables(
                [table, one, other], self._match_condition(one), self._match_condition(other, "other_where")
            )
        elif how == "different":
            owner = self._find_table("noun")
            value = f"DISTINCT {table.name}.{table.references[self._find_table('others').name]}"
            source = self._join_tables([table, owner], self._match_name(owner))
        else:
            owner, other = self._find_table("noun"), self._find_table("other_noun")
            value = f"{value} * {self._find_column(other, 'other_column')}"
            source = self._join_tables([table, owner, other], self._match_name(owner))
        kinds: dict[str, Literal["count", "sum", "average"]] = {"count": "count", "sum": "sum", "average": "average"}
        return Plan(kinds[kind], value, source, places)

    def _find_table(self, part: str) -> TableShape:
        words = self._words[part]
        found = next((one for one in self._shapes.values() if words in (one.plural, *one.nouns)), None)
        if found is None:
            raise UnknownForm(f"No table has rows called {words!r}.")
        return found

    def _find_column(self, table: TableShape, part: str = "column") -> str:
        if (column := table.find_column(self._words[part])) is None:
            raise MissingColumn(f"{table.name} has no column for {self._words[part]!r}.")
        return column

    def _match_name(self, table: TableShape) -> str:
        return f"{table.label} = {quote_text(self._words['name'])}" if "name" in self._words else ""

    def _match_id(self, table: TableShape) -> str:
        return f"{table.name}.id = {self._words['id']}"

    def _match_condition(self, table: TableShape, part: str = "where") -> str:
        return translate_condition(self._words[part], table) if part in self._words else ""

    def _join_tables(self, tables: Sequence[TableShape], *conditions: str) -> str:
        """Return the query from FROM on. Each table after the first is joined to an earlier one."""
        joins = [f"FROM {tables[0].name}"]
        for n, table in enumerate(tables[1:], start=1):
            other = next(one for one in tables[:n] if table.name in one.references)
            joins.append(f"JOIN {table.name} ON {other.name}.{other.references[table.name]} = {table.name}.id")
        where = " AND ".join(condition for condition in conditions if condition)
        return " ".join(joins) + (f" WHERE {where}" if where else "")
