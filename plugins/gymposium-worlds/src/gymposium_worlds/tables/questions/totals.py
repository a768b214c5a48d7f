"""Questions about a count, a sum or an average over the rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gymposium_worlds.tables.answers import Answer, is_unambiguous, round_answer
from gymposium_worlds.tables.database import Column, Row, Table
from gymposium_worlds.tables.questions.question import Asker, QuestionMaker, TableQuestion

_ROUND = {1: " Round to 1 decimal.", 2: " Round to 2 decimals.", 3: " Round to 3 decimals."}


def sum_cells(rows: Sequence[Row], table: Table, column: Column) -> Fraction:
    """Return the exact sum of a numeric column."""
    place = table.columns.index(column)
    return sum((Fraction(str(row[place])) for row in rows), Fraction(0))


def format_sum(value: Fraction, *columns: Column) -> tuple[Answer, str]:
    """Return a sum as an answer, and the sentence that asks for its digits."""
    if any(column.kind == "decimal" for column in columns):
        return round_answer(value, 2), _ROUND[2]
    return Answer("integer", str(value)), ""


def format_average(asker: Asker, rows: Sequence[Row], table: Table, column: Column) -> tuple[Answer, str] | None:
    """Return an average as an answer, and the sentence that asks for its digits.

    Returns None if rounding is ambiguous.
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
