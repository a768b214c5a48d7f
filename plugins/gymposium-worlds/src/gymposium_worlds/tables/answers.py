"""Answers to questions, and their comparison with the text that a player gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Literal

from gymposium.errors import BadRecord

UNKNOWN = "unknown"
"""The answer if the data do not hold what is asked."""
UNKNOWN_ELSEWHERE = 0.1
"""Score of this answer where the data do hold it: more than a wrong answer's 0, since it misleads nobody."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?")

Type = Literal["integer", "decimal", "text", "unknown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The right answer to a question."""

    type: Type
    value: str
    """A decimal has the digits that the question asks for."""

    @classmethod
    def load(cls, parts: object) -> Answer:
        """The answer in a task. Raises `BadRecord`."""
        match parts:
            case {"type": "integer", "value": str(value)} if _INTEGER.fullmatch(value):
                return cls("integer", value)
            case {"type": "decimal", "value": str(value)} if _DECIMAL.fullmatch(value):
                return cls("decimal", value)
            case {"type": "text", "value": str(value)}:
                return cls("text", value)
            case {"type": "unknown"}:
                return cls("unknown", UNKNOWN)
        raise BadRecord("A task of the world tables holds an answer of a type and a value.")

    def matches(self, given: str) -> bool:
        """Return whether `given` is this answer. White space around it is ignored.

        Integers are written without a point. Decimals are compared as numbers, so that 12.5 equals 12.50, and are not
        rounded. Text is compared letter by letter, and so is `unknown`, but in any case of letters."""
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
        """Return 1 for the right answer, `UNKNOWN_ELSEWHERE` for `unknown` where that is wrong, and 0 for others."""
        if self.matches(given):
            return 1.0
        return UNKNOWN_ELSEWHERE if is_unknown(given) else 0.0


def is_unknown(given: str) -> bool:
    """Return whether the text says that the data do not hold the answer."""
    return given.strip().lower() == UNKNOWN


def answer_of(value: object) -> Answer:
    """The answer that a value of a table is. Floats are multiples of 0.25, so two digits hold them."""
    if value is None:
        return Answer("unknown", UNKNOWN)
    if isinstance(value, float):
        return Answer("decimal", f"{value:.2f}")
    return Answer("integer" if isinstance(value, int) else "text", str(value))


def rounded(value: Fraction, places: int) -> Answer:
    """The answer that an exact number is, rounded to this number of places, halves away from zero."""
    quantum = Decimal(1).scaleb(-places)
    number = (Decimal(value.numerator) / Decimal(value.denominator)).quantize(quantum, ROUND_HALF_UP)
    return Answer("decimal", str(number))


def is_clear(value: Fraction, places: int) -> bool:
    """Return whether all ways of rounding halves, and sums of floats, give the same: it has no more places, or
    is not near the middle between two neighbours."""
    rest = value * 10**places % 1
    return rest == 0 or not Fraction(499, 1000) <= rest <= Fraction(501, 1000)
