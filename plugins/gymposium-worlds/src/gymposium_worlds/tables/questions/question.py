"""Questions, conditions, and helpers for the functions that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gymposium.util.streams import Draw
from gymposium_worlds.tables.answers import Answer, format_answer
from gymposium_worlds.tables.database import Database, Row, Table, Value
from gymposium_worlds.tables.questions.wordings import CONDITIONS, WORDINGS, Split


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows."""

    words: str
    """Text after the plural noun: `whose age is at least 30`."""
    holds: Callable[[Row], bool]


def draw_condition(table: Table, split: Split, draw: Draw) -> Condition:
    """Draw a condition that at least one row meets. It may consist of two conditions joined by `and`."""
    columns = [n for n, one in enumerate(table.columns) if one.kind in ("category", "integer", "decimal", "date")]
    example = draw.pick(table.rows)
    parts = [
        _draw_column_condition(table, n, example[n], split, draw)
        for n in draw.some(columns, 2 if draw.chance(0.3) else 1)
    ]
    return Condition(" and ".join(one.words for one in parts), lambda row: all(one.holds(row) for one in parts))


def _draw_column_condition(table: Table, place: int, value: Value, split: Split, draw: Draw) -> Condition:
    """Draw a condition on one column that `value` meets."""
    column = table.columns[place]
    if isinstance(value, str):
        relation = draw.pick(("year", "from")) if column.kind == "date" else "equal"
    else:
        relation = draw.pick(("at least", "at most", "below", "above") if value else ("at least", "at most", "below"))
    bound, last = _draw_bounds(relation, value, draw)

    def holds(row: Row) -> bool:
        return _meets(relation, row[place], bound, last)

    shown = f"{bound:.12g}" if isinstance(bound, float) else bound
    words = CONDITIONS[relation][split].format(column=column.phrase, value=shown, last=last)
    return Condition(words, holds)


def _draw_bounds(relation: str, value: Value, draw: Draw) -> tuple[Value, Value]:
    """Draw the number, text or dates of a condition that `value` meets."""
    match relation, value:
        case "above", int() | float():
            return max(value - draw.between(1, 4), 0), None
        case "below", int() | float():
            return value + draw.between(1, 4), None
        case "year", str():
            return value[:4], None
        case "from", str():
            months = draw.between(0, 11)
            year, month = divmod(int(value[:4]) * 12 + int(value[5:7]) - 1 + months, 12)
            return f"{value[:8]}01", f"{year}-{month + 1:02}-28" if months else value
        case _:
            return value, None


def _meets(relation: str, value: Value, bound: Value, last: Value) -> bool:
    match value, bound:
        case str(), str():
            if relation == "from":
                return bound <= value <= str(last)
            return value.startswith(bound) if relation == "year" else value == bound
        case int() | float(), int() | float():
            return {
                "at least": value >= bound,
                "at most": value <= bound,
                "above": value > bound,
                "below": value < bound,
            }[relation]
        case _:
            return False


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question about a database and its only right answer."""

    form: str
    text: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Asker:
    """The context for drawing questions: a database, a split's wordings, and a random stream."""

    database: Database
    split: Split
    draw: Draw

    def ask(self, form: str, answer: Answer, after: str = "", /, **slots: Value) -> TableQuestion | None:
        """Return the question in one of the split's wordings, followed by the sentence `after`.

        Returns None if the split has no wording.
        """
        wordings = WORDINGS[form][self.split]
        if not wordings:
            return None
        return TableQuestion(form, self.draw.pick(wordings).format(**slots) + after, answer)

    def draw_condition(self, table: Table) -> Condition:
        """Draw a condition that at least one row of the table meets."""
        return draw_condition(table, self.split, self.draw)

    def draw_named_table(self) -> Table:
        """Draw a table whose rows have labels."""
        return self.draw.pick((self.database.place, self.database.subject, self.database.item))

    def draw_owner(self) -> Table:
        """Draw one of the tables that events reference."""
        return self.draw.pick((self.database.subject, self.database.item))

    def select_events(self, owner: Table, holds: Callable[[Row], bool]) -> list[Row]:
        """Return the events of the `owner` rows that meet a condition."""
        event = self.database.event
        key = event.find_place("reference", owner.name)
        owners = {row[0] for row in owner.rows if holds(row)}
        return [row for row in event.rows if row[key] in owners]


QuestionMaker = Callable[[Asker], TableQuestion | None]
"""A function that draws a question. It returns None if the question has no unique answer."""


def read_label(table: Table, row: Row) -> str:
    """Return the label of a row."""
    return str(row[table.find_place("label")])


def read_cell(row: Row, place: int) -> Answer:
    """Return a cell of a row as an answer."""
    return format_answer(row[place])
