"""Proof that a question has exactly one answer, from its text and the database alone."""

from __future__ import annotations

import sqlite3
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from gymposium.errors import GymposiumError
from gymposium_worlds.tables.reading import MissingColumn, Plan, read_question, read_shapes

_MARGIN = Fraction(1, 1000)
"""Minimum distance of a number from the midpoint between two rounded values, in units of the last digit."""


class ProofError(GymposiumError):
    """Error for a question without a provable answer, or with several."""


def prove_answer(question: str, connection: sqlite3.Connection) -> str:
    """Return the only right answer to a question about a database, as text; `unknown` if the data do not contain it.
    Raises `ProofError` if there are several, for example two winners, or a number that can be rounded up or down.
    """
    shapes = read_shapes(sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'"))
    try:
        plan = read_question(question, shapes)
    except MissingColumn:
        return "unknown"
    match plan.kind:
        case "value":
            return _look_up(plan, connection)
        case "count":
            return str(connection.execute(f"SELECT COUNT({plan.value}) {plan.source}").fetchone()[0])
        case "sum" | "average":
            return _compute_total(plan, connection)
        case "extreme":
            best = f"SELECT {'MAX' if plan.descending else 'MIN'}({plan.value}) {plan.source}"
            source = plan.source + (" AND" if " WHERE " in plan.source else " WHERE")
            return _fetch_only(connection, f"SELECT {plan.label} {source} {plan.value} = ({best})")
        case "common":
            counts = f"SELECT {plan.label} AS label, COUNT(*) AS n {plan.source} GROUP BY {plan.value}"
            best = f"SELECT {'MAX' if plan.descending else 'MIN'}(n) FROM ({counts})"
            return _fetch_only(connection, f"SELECT label FROM ({counts}) WHERE n = ({best})")


def _look_up(plan: Plan, connection: sqlite3.Connection) -> str:
    rows = connection.execute(f"SELECT {plan.value} {plan.source}").fetchall()
    if len(rows) > 1:
        raise ProofError(f"The question must select 1 row, not {len(rows)}. Ask about a row with a unique label.")
    if not rows or rows[0][0] is None:
        return "unknown"
    return str(rows[0][0])


def _compute_total(plan: Plan, connection: sqlite3.Connection) -> str:
    """Return the sum or the average, computed with integers."""
    sql = f"SELECT COUNT(*), SUM(CAST(ROUND(({plan.value}) * 4) AS INTEGER)) {plan.source}"
    count, quarters = connection.execute(sql).fetchone()
    if not count:
        raise ProofError("The question selects no rows to add up. Ask about rows that exist.")
    value = Fraction(quarters, 4) / (count if plan.kind == "average" else 1)
    if plan.places is None:
        if value.denominator != 1:
            raise ProofError("The answer has decimals, so the question must state the number of digits. State it.")
        return str(value)
    scaled = value * 10**plan.places
    if scaled.denominator != 1 and abs(scaled % 1 - Fraction(1, 2)) <= _MARGIN:
        raise ProofError("The value is too close to a rounding boundary. Ask for more digits.")
    number = Decimal(value.numerator) / Decimal(value.denominator)
    return str(number.quantize(Decimal(1).scaleb(-plan.places), ROUND_HALF_UP))


def _fetch_only(connection: sqlite3.Connection, sql: str) -> str:
    rows = connection.execute(sql).fetchall()
    if len(rows) != 1:
        raise ProofError(f"The question must have 1 winner, not {len(rows)}. Ask about data without ties.")
    return str(rows[0][0])
