"""Questions for the row or value that ranks first. Each has exactly one winner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gymposium_worlds.tables.answers import Answer
from gymposium_worlds.tables.database import Column, Row, Table, Value
from gymposium_worlds.tables.questions.question import Asker, QuestionMaker, TableQuestion, read_label
from gymposium_worlds.tables.questions.wordings import EARLIEST, FEWEST, GREATEST, LATEST, LEAST, MOST


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
