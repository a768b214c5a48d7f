"""Questions, and helpers for the functions that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gymposium.util.streams import Draw
from gymposium_worlds.tables.answers import Answer, format_answer
from gymposium_worlds.tables.database import Database, Row, Table, Value
from gymposium_worlds.tables.questions.conditions import Condition, draw_condition
from gymposium_worlds.tables.questions.wordings import WORDINGS, Split


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question about a database and its only right answer."""

    form: str
    text: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Asker:
    """A context for making questions: a database, a split's wordings, and a random stream."""

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
        """Draw a table that has events."""
        return self.draw.pick((self.database.subject, self.database.item))

    def select_events(self, owner: Table, holds: Callable[[Row], bool]) -> list[Row]:
        """Return the events of all `draw_owner` rows that meet a condition."""
        event = self.database.event
        key = event.find_place("reference", owner.name)
        owners = {row[0] for row in owner.rows if holds(row)}
        return [row for row in event.rows if row[key] in owners]


QuestionMaker = Callable[[Asker], TableQuestion | None]
"""Function that makes a question. It returns None if the question drawn has no unique answer."""


def read_label(table: Table, row: Row) -> str:
    """Return the label of a row."""
    return str(row[table.find_place("label")])


def read_cell(row: Row, place: int) -> Answer:
    """Return a cell of a row as an answer."""
    return format_answer(row[place])
