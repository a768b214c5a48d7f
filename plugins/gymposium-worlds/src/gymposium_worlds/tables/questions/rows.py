"""Questions about the rows of one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from gymposium_worlds.tables.answers import UNKNOWN, Answer, is_unambiguous, round_answer
from gymposium_worlds.tables.database import Column, Row, Table, Value
from gymposium_worlds.tables.questions.question import Asker, QuestionMaker, TableQuestion, read_cell, read_label
from gymposium_worlds.tables.questions.wordings import EARLIEST, FEWEST, GREATEST, LATEST, LEAST, MOST


def ask_by_label(asker: Asker) -> TableQuestion | None:
    """Ask for a cell in the row with a given label."""
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
    """Ask which row has a given contact."""
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
    """Ask for an attribute that is not a column of any table."""
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
    """Ask about an event id that does not exist."""
    table, draw = asker.database.event, asker.draw
    column = draw.pick(table.select_columns("category", "integer", "decimal", "date"))
    number = len(table.rows) + draw.between(1, 50)
    return asker.ask("lookup.numbered", Answer("unknown", UNKNOWN), column=column.phrase, noun=table.noun, id=number)


LOOKUPS: tuple[QuestionMaker, ...] = (ask_by_label, ask_by_id, ask_by_contact)
ABSENT: tuple[QuestionMaker, ...] = (ask_absent_label, ask_absent_column, ask_absent_cell, ask_absent_event)


_ROUND = {1: " Round to 1 decimal.", 2: " Round to 2 decimals.", 3: " Round to 3 decimals."}


def sum_cells(rows: Sequence[Row], table: Table, column: Column) -> Fraction:
    """Return the exact sum of a numeric column."""
    place = table.columns.index(column)
    return sum((Fraction(str(row[place])) for row in rows), Fraction(0))


def format_sum(value: Fraction, *columns: Column) -> tuple[Answer, str]:
    """Return a sum as an answer, and the sentence that asks for its number of digits."""
    if any(column.kind == "decimal" for column in columns):
        return round_answer(value, 2), _ROUND[2]
    return Answer("integer", str(value)), ""


def format_average(asker: Asker, rows: Sequence[Row], table: Table, column: Column) -> tuple[Answer, str] | None:
    """Return an average as an answer, and the sentence that asks for its number of digits. Returns None if rounding is
    ambiguous.
    """
    places = asker.draw.between(1, 3)
    if len(rows) < 2 or not is_unambiguous(mean := sum_cells(rows, table, column) / len(rows), places):
        return None
    return round_answer(mean, places), _ROUND[places]


def ask_count(asker: Asker) -> TableQuestion | None:
    """Ask how many rows meet a condition."""
    table = asker.draw.pick(asker.database.tables)
    where = asker.draw_condition(table)
    count = Answer("integer", str(sum(map(where.holds, table.rows))))
    return asker.ask("count.where", count, plural=table.plural, where=where.words)


def ask_sum(asker: Asker) -> TableQuestion | None:
    """Ask for the sum of a column over the rows that meet a condition."""
    table = asker.draw.pick(asker.database.tables)
    where, column = asker.draw_condition(table), asker.draw.pick(table.select_columns("integer", "decimal"))
    rows = [row for row in table.rows if where.holds(row)]
    answer, after = format_sum(sum_cells(rows, table, column), column)
    return asker.ask("sum.where", answer, after, column=column.phrase, plural=table.plural, where=where.words)


def ask_average(asker: Asker) -> TableQuestion | None:
    """Ask for the average of a column over the rows that meet a condition."""
    table = asker.draw.pick(asker.database.tables)
    where, column = asker.draw_condition(table), asker.draw.pick(table.select_columns("integer", "decimal"))
    rows = [row for row in table.rows if where.holds(row)]
    if (found := format_average(asker, rows, table, column)) is None:
        return None
    return asker.ask("average.where", *found, column=column.phrase, plural=table.plural, where=where.words)


COUNTS: tuple[QuestionMaker, ...] = (ask_count,)
SUMS: tuple[QuestionMaker, ...] = (ask_sum,)
AVERAGES: tuple[QuestionMaker, ...] = (ask_average,)


def ask_overall(asker: Asker) -> TableQuestion | None:
    """Ask which row of a table has the greatest or the least value."""
    table = asker.draw_named_table()
    column = asker.draw.pick(table.select_columns("integer", "decimal", "date"))
    return _ask_superlative(asker, "superlative.all", table, column, table.rows)


def ask_filtered(asker: Asker) -> TableQuestion | None:
    """Ask which row that meets a condition has the greatest or the least value."""
    table = asker.draw_named_table()
    column, where = asker.draw.pick(table.select_columns("integer", "decimal", "date")), asker.draw_condition(table)
    rows = [row for row in table.rows if where.holds(row)]
    if len(rows) < 2:
        return None
    return _ask_superlative(asker, "superlative.where", table, column, rows, plural=table.plural, where=where.words)


def _ask_superlative(
    asker: Asker, form: str, table: Table, column: Column, rows: Sequence[Row], **slots: Value
) -> TableQuestion | None:
    place, highest = table.columns.index(column), asker.draw.chance(0.5)
    words = (EARLIEST, LATEST) if column.kind == "date" else (LEAST, GREATEST)
    ranked = sorted(rows, key=lambda row: str(row[place]) if column.kind == "date" else float(str(row[place])))
    first, second = (ranked[-1], ranked[-2]) if highest else (ranked[0], ranked[1])
    if first[place] == second[place]:
        return None
    winner = Answer("text", read_label(table, first))
    return asker.ask(form, winner, noun=table.noun, most=words[highest][asker.split], column=column.phrase, **slots)


def ask_most_common(asker: Asker) -> TableQuestion | None:
    """Ask for the most or least frequent value of a category."""
    table, draw = asker.draw.pick(asker.database.tables), asker.draw
    (column,) = table.select_columns("category")
    counted = Counter(row[table.columns.index(column)] for row in table.rows)
    highest = draw.chance(0.5)
    ranked = sorted(counted.items(), key=lambda pair: (pair[1], str(pair[0])), reverse=highest)
    if len(ranked) < 2 or ranked[0][1] == ranked[1][1]:
        return None
    winner, most = Answer("text", str(ranked[0][0])), (MOST if highest else FEWEST)[asker.split]
    return asker.ask("superlative.common", winner, column=column.phrase, most=most, plural=table.plural)


SUPERLATIVES: tuple[QuestionMaker, ...] = (ask_overall, ask_filtered, ask_most_common)
