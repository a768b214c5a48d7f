"""Questions that need two tables or more."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from gymposium_worlds.tables.answers import Answer
from gymposium_worlds.tables.questions.question import Asker, QuestionMaker, TableQuestion, read_cell, read_label
from gymposium_worlds.tables.questions.rows import format_average, format_sum, sum_cells


def ask_event_count(asker: Asker) -> TableQuestion | None:
    """Ask how many events belong to one subject or item."""
    owner, event = asker.draw_owner(), asker.database.event
    row = asker.draw.pick(owner.rows)
    count = Answer("integer", str(len(asker.select_events(owner, lambda one: one == row))))
    return asker.ask("join.count_events", count, plural=event.plural, noun=owner.noun, name=read_label(owner, row))


def ask_count_by_owner(asker: Asker) -> TableQuestion | None:
    """Ask how many events belong to subjects or items that meet a condition."""
    owner, event = asker.draw_owner(), asker.database.event
    where = asker.draw_condition(owner)
    count = Answer("integer", str(len(asker.select_events(owner, where.holds))))
    return asker.ask("join.count_where", count, plural=event.plural, owners=owner.plural, where=where.words)


def ask_count_by_both(asker: Asker) -> TableQuestion | None:
    """Ask how many events belong to a subject that meets one condition and to an item that meets another."""
    subject, item, event = asker.database.subject, asker.database.item, asker.database.event
    where, other = asker.draw_condition(subject), asker.draw_condition(item)
    both = set(asker.select_events(subject, where.holds)) & set(asker.select_events(item, other.holds))
    if not both:
        return None
    return asker.ask(
        "join.count_both", Answer("integer", str(len(both))), plural=event.plural, owners=subject.plural,
        where=where.words, others=item.plural, other_where=other.words,
    )  # fmt: skip


def ask_count_by_place(asker: Asker) -> TableQuestion | None:
    """Ask how many events belong to subjects of one place."""
    place, subject, event = asker.database.place, asker.database.subject, asker.database.event
    row, key = asker.draw.pick(place.rows), subject.find_place("reference", place.name)
    count = Answer("integer", str(len(asker.select_events(subject, lambda one: one[key] == row[0]))))
    slots = {"plural": event.plural, "owners": subject.plural, "noun": place.noun, "name": read_label(place, row)}
    return asker.ask("join.count_place", count, **slots)


def ask_distinct_count(asker: Asker) -> TableQuestion | None:
    """Ask how many different items a subject's events have, or how many different subjects an item's events have."""
    owner, database = asker.draw_owner(), asker.database
    other = database.item if owner is database.subject else database.subject
    row, key = asker.draw.pick(owner.rows), database.event.find_place("reference", other.name)
    events = asker.select_events(owner, lambda one: one == row)
    if not events:
        return None
    count = Answer("integer", str(len({event[key] for event in events})))
    slots = {
        "others": other.plural,
        "plural": database.event.plural,
        "noun": owner.noun,
        "name": read_label(owner, row),
    }
    return asker.ask("join.count_different", count, **slots)


def ask_column_sum(asker: Asker) -> TableQuestion | None:
    """Ask for the sum of a column over the events of one row."""
    owner, event = asker.draw_owner(), asker.database.event
    row, column = asker.draw.pick(owner.rows), asker.draw.pick(event.select_columns("integer", "decimal"))
    events = asker.select_events(owner, lambda one: one == row)
    if not events:
        return None
    answer, after = format_sum(sum_cells(events, event, column), column)
    slots = {"column": column.phrase, "plural": event.plural, "noun": owner.noun, "name": read_label(owner, row)}
    return asker.ask("join.sum_column", answer, after, **slots)


def ask_product_sum(asker: Asker) -> TableQuestion | None:
    """Ask for the sum of an event column times an item column, over a subject's events."""
    subject, item, event = asker.database.subject, asker.database.item, asker.database.event
    row = asker.draw.pick(subject.rows)
    column, other = (
        asker.draw.pick(event.select_columns("integer")),
        asker.draw.pick(item.select_columns("integer", "decimal")),
    )
    events = asker.select_events(subject, lambda one: one == row)
    if not events:
        return None
    factor, key = event.columns.index(column), event.find_place("reference", item.name)
    factors = {one[0]: Fraction(str(one[item.columns.index(other)])) for one in item.rows}
    answer, after = format_sum(
        sum((Fraction(str(one[factor])) * factors[one[key]] for one in events), Fraction(0)), column, other
    )
    slots = {"plural": event.plural, "noun": subject.noun, "name": read_label(subject, row), "other": item.noun}
    return asker.ask("join.sum_product", answer, after, column=column.phrase, other_column=other.phrase, **slots)


def ask_average_by_owner(asker: Asker) -> TableQuestion | None:
    """Ask for the average of a column over the events of rows that meet a condition."""
    owner, event = asker.draw_owner(), asker.database.event
    where, column = asker.draw_condition(owner), asker.draw.pick(event.select_columns("integer", "decimal"))
    if (found := format_average(asker, asker.select_events(owner, where.holds), event, column)) is None:
        return None
    slots = {"column": column.phrase, "plural": event.plural, "owners": owner.plural, "where": where.words}
    return asker.ask("join.average_where", *found, **slots)


def ask_most_events(asker: Asker) -> TableQuestion | None:
    """Ask which row has the most events."""
    owner, event = asker.draw_owner(), asker.database.event
    key = event.find_place("reference", owner.name)
    (first, count), (_, next_count) = Counter(row[key] for row in event.rows).most_common(2)
    if count == next_count:
        return None
    (winner,) = (row for row in owner.rows if row[0] == first)
    return asker.ask("join.most", Answer("text", read_label(owner, winner)), noun=owner.noun, plural=event.plural)


def ask_owner_cell(asker: Asker) -> TableQuestion | None:
    """Ask for a cell in the subject or item of an event, or in the place of a subject."""
    database, draw = asker.database, asker.draw
    owner, table = draw.pick(
        [(database.subject, database.event), (database.item, database.event), (database.place, database.subject)]
    )
    row, column = (
        draw.pick(table.rows),
        draw.pick([one for one in owner.columns if one.kind not in ("id", "reference")]),
    )
    key = row[table.find_place("reference", owner.name)]
    (owning,) = (one for one in owner.rows if one[0] == key)
    value = read_cell(owning, owner.columns.index(column))
    if value.type == "unknown":
        return None
    return asker.ask("join.owner", value, column=column.phrase, owner=owner.noun, noun=table.noun, id=row[0])


JOINS: tuple[QuestionMaker, ...] = (
    ask_event_count,
    ask_count_by_owner,
    ask_count_by_both,
    ask_count_by_place,
    ask_distinct_count,
    ask_column_sum,
    ask_product_sum,
    ask_average_by_owner,
    ask_most_events,
    ask_owner_cell,
)
