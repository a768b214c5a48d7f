"""Questions about a count, a sum or an average over the rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gymposium_worlds.tables.answers import Answer, is_clear, rounded
from gymposium_worlds.tables.database import Column, Row, Table
from gymposium_worlds.tables.questions.question import Asker, Maker, TableQuestion

_ROUND = {1: " Round to 1 decimal.", 2: " Round to 2 decimals.", 3: " Round to 3 decimals."}


def total(rows: Sequence[Row], table: Table, column: Column) -> Fraction:
    """Return the exact sum of a numeric column."""
    place = table.columns.index(column)
    return sum((Fraction(str(row[place])) for row in rows), Fraction(0))


def sum_answer(value: Fraction, *columns: Column) -> tuple[Answer, str]:
    """Return a sum as an answer, and the sentence that asks for its digits."""
    if any(column.kind == "decimal" for column in columns):
        return rounded(value, 2), _ROUND[2]
    return Answer("integer", str(value)), ""


def average_answer(asker: Asker, rows: Sequence[Row], table: Table, column: Column) -> tuple[Answer, str] | None:
    """Return an average as an answer, and the sentence that asks for its digits.

    Returns None if rounding is ambiguous.
    """
    places = asker.draw.between(1, 3)
    if len(rows) < 2 or not is_clear(mean := total(rows, table, column) / len(rows), places):
        return None
    return rounded(mean, places), _ROUND[places]


def count_where(asker: Asker) -> TableQuestion | None:
    """Ask how many rows meet a condition."""
    table = asker.draw.pick(asker.database.tables)
    where = asker.condition(table)
    count = Answer("integer", str(sum(map(where.holds, table.rows))))
    return asker.ask("count.where", count, plural=table.plural, where=where.words)


def sum_where(asker: Asker) -> TableQuestion | None:
    """Ask for the sum of a column over the rows that meet a condition."""
    table = asker.draw.pick(asker.database.tables)
    where, column = asker.condition(table), asker.draw.pick(table.select_columns("integer", "decimal"))
    rows = [row for row in table.rows if where.holds(row)]
    answer, after = sum_answer(total(rows, table, column), column)
    return asker.ask("sum.where", answer, after, column=column.phrase, plural=table.plural, where=where.words)


def average_where(asker: Asker) -> TableQuestion | None:
    """Ask for the average of a column over the rows that meet a condition."""
    table = asker.draw.pick(asker.database.tables)
    where, column = asker.condition(table), asker.draw.pick(table.select_columns("integer", "decimal"))
    rows = [row for row in table.rows if where.holds(row)]
    if (found := average_answer(asker, rows, table, column)) is None:
        return None
    return asker.ask("average.where", *found, column=column.phrase, plural=table.plural, where=where.words)


COUNTS: tuple[Maker, ...] = (count_where,)
SUMS: tuple[Maker, ...] = (sum_where,)
AVERAGES: tuple[Maker, ...] = (average_where,)
