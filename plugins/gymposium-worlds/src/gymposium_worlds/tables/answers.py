"""Answers to questions, and their comparison with a player's text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Literal

from gymposium.errors import BadRecord
from gymposium.util.visible import shorten

UNKNOWN = "unknown"
"""The right answer if the data do not contain the requested value."""
UNKNOWN_SCORE = 0.1
"""Score of `unknown` if the data do contain an answer. It is above 0, the score of a wrong answer, because it does not
mislead."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?")

Type = Literal["integer", "decimal", "text", "unknown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The right answer to a question."""

    type: Type
    value: str
    """The answer as text. Decimals have as many digits as the question asks for."""

    @classmethod
    def load(cls, parts: object) -> Answer:
        """Return the answer in a task. Raises `BadRecord`."""
        match parts:
            case {"type": "integer", "value": str(value)} if _INTEGER.fullmatch(value):
                return cls("integer", value)
            case {"type": "decimal", "value": str(value)} if _DECIMAL.fullmatch(value):
                return cls("decimal", value)
            case {"type": "text", "value": str(value)}:
                return cls("text", value)
            case {"type": "unknown"}:
                return cls("unknown", UNKNOWN)
        raise BadRecord(f"The task's answer must have a type and a value, not {shorten(parts)}.")

    def matches(self, given: str) -> bool:
        """Return whether `given` is this answer. Surrounding white space is ignored.

        Integers are written without a point. Decimals are compared as numbers, so 12.5 equals 12.50, and are not
        rounded. Text must match exactly, and `unknown` in any case.
        """
        given = given.strip()
        match self.type:
            case "integer":
                return _INTEGER.fullmatch(given) is not None and int(given) == int(self.value)
            case "decimal":
                return _DECIMAL.fullmatch(given) is not None and Decimal(given) == Decimal(self.value)
            case "text":
                return given == self.value
            case "unknown":
                return is_unknown(given)

    def score(self, given: str) -> float:
        """Return 1 for the right answer, `UNKNOWN_SCORE` for a wrong `unknown`, and 0 for any other answer."""
        if self.matches(given):
            return 1.0
        return UNKNOWN_SCORE if is_unknown(given) else 0.0


def is_unknown(given: str) -> bool:
    """Return whether the text says that the data do not contain the answer."""
    return given.strip().lower() == UNKNOWN


def format_answer(value: object) -> Answer:
    """Return a table value as an answer. Floats are multiples of 0.25, so two digits suffice."""
    if value is None:
        return Answer("unknown", UNKNOWN)
    if isinstance(value, float):
        return Answer("decimal", f"{value:.2f}")
    return Answer("integer" if isinstance(value, int) else "text", str(value))


def round_answer(value: Fraction, places: int) -> Answer:
    """Return an exact number as an answer, rounded to this number of decimal places. Halves are rounded away from
    zero."""
    quantum = Decimal(1).scaleb(-places)
    number = (Decimal(value.numerator) / Decimal(value.denominator)).quantize(quantum, ROUND_HALF_UP)
    return Answer("decimal", str(number))


def is_unambiguous(value: Fraction, places: int) -> bool:
    """Return whether the rounded number is independent of how halves are rounded and floats are added. This holds if
    the number has no further decimal places, or is not close to the midpoint between two rounded values.
    """
    rest = value * 10**places % 1
    return rest == 0 or not Fraction(499, 1000) <= rest <= Fraction(501, 1000)
