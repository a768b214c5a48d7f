"""Questions about one cell of one row."""

from __future__ import annotations

from gymposium_worlds.tables.answers import UNKNOWN, Answer
from gymposium_worlds.tables.questions.question import Asker, QuestionMaker, TableQuestion, read_cell, read_label


def ask_by_label(asker: Asker) -> TableQuestion | None:
    """Ask for a cell of a row with a label."""
    table, draw = asker.draw_named_table(), asker.draw
    row, column = (
        draw.pick(table.rows),
        draw.pick([one for one in table.columns if one.kind not in ("id", "label", "reference")]),
    )
    value = read_cell(row, table.columns.index(column))
    if value.type == "unknown":
        return None
    return asker.ask("lookup.named", value, column=column.phrase, noun=table.noun, name=read_label(table, row))


def ask_by_id(asker: Asker) -> TableQuestion | None:
    """Ask for a cell of an event, which has no label."""
    table, draw = asker.database.event, asker.draw
    row, column = draw.pick(table.rows), draw.pick(table.select_columns("category", "integer", "decimal", "date"))
    value = read_cell(row, table.columns.index(column))
    return asker.ask("lookup.numbered", value, column=column.phrase, noun=table.noun, id=row[0])


def ask_by_contact(asker: Asker) -> TableQuestion | None:
    """Ask which row has a contact."""
    table = asker.database.subject
    (column,) = table.select_columns("contact")
    row = asker.draw.pick(table.rows)
    value = row[table.columns.index(column)]
    if value is None:
        return None
    name = Answer("text", read_label(table, row))
    return asker.ask("lookup.reverse", name, noun=table.noun, column=column.phrase, value=value)


def ask_absent_label(asker: Asker) -> TableQuestion | None:
    """Ask about a label that no row has."""
    table, draw = asker.draw_named_table(), asker.draw
    column = draw.pick([one for one in table.columns if one.kind not in ("id", "label", "reference")])
    nothing = Answer("unknown", UNKNOWN)
    return asker.ask(
        "lookup.named", nothing, column=column.phrase, noun=table.noun, name=draw.pick(table.absent_labels)
    )


def ask_absent_column(asker: Asker) -> TableQuestion | None:
    """Ask for something that no table has a column for."""
    table, draw = asker.draw_named_table(), asker.draw
    name = read_label(table, draw.pick(table.rows))
    nothing = Answer("unknown", UNKNOWN)
    return asker.ask("lookup.named", nothing, column=draw.pick(table.absent_columns), noun=table.noun, name=name)


def ask_absent_cell(asker: Asker) -> TableQuestion | None:
    """Ask for a contact that is not recorded."""
    table, draw = asker.database.subject, asker.draw
    place = table.find_place("contact")
    without = [row for row in table.rows if row[place] is None]
    if not without:
        return None
    row = draw.pick(without)
    column = table.columns[place]
    return asker.ask(
        "lookup.named", read_cell(row, place), column=column.phrase, noun=table.noun, name=read_label(table, row)
    )


def ask_absent_event(asker: Asker) -> TableQuestion | None:
    """Ask about an event with an id that none has."""
    table, draw = asker.database.event, asker.draw
    column = draw.pick(table.select_columns("category", "integer", "decimal", "date"))
    number = len(table.rows) + draw.between(1, 50)
    return asker.ask("lookup.numbered", Answer("unknown", UNKNOWN), column=column.phrase, noun=table.noun, id=number)


LOOKUPS: tuple[QuestionMaker, ...] = (ask_by_label, ask_by_id, ask_by_contact)
ABSENT: tuple[QuestionMaker, ...] = (ask_absent_label, ask_absent_column, ask_absent_cell, ask_absent_event)
