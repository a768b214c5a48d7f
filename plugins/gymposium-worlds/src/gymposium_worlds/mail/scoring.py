"""Scores of answers: exact, and compared by type.

An answer is first normalized: Unicode form NFKC, single spaces, no spaces at the ends, and without one full stop at the
end. The type of the right answer then determines which answers are right:

- `number`: digits, with or without commas between thousands: `12`, `1,200`.
- `amount`: a number with at most two decimals. `€` or `EUR` may precede it, and `euro`, `euros`, `EUR` or `€` may
  follow it: `1,310 euros`, `€1310.00`.
- `date`: `2024-06-12`, `12 June 2024` or `June 12, 2024`.
- `name` and `text`: one of the accepted spellings, in any case. For a person, these are the header name and the
  nickname, each with the family name. For a place, the name alone is enough. Further words or a second answer make
  an answer wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from gymposium_worlds.mail.message import MONTHS

UNKNOWN_ANSWER = "I don't know"
"""Answer for questions that the mailbox does not answer."""

UNKNOWN_SCORE = 0.15
"""Score of `UNKNOWN_ANSWER` if there is an answer. It is above the score of a wrong answer and the expected score of a
guess."""

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
_NUMBER = re.compile(_DIGITS)
_AMOUNT = re.compile(rf"(?:€|eur)? ?({_DIGITS}(?:\.[0-9]{{1,2}})?) ?(?:euros?|eur|€)?", re.IGNORECASE)
_MONTHS = tuple(month.casefold() for month in MONTHS)
_DATES = tuple(
    map(
        re.compile,
        (
            r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})",
            r"(?P<day>[0-9]{1,2}) (?P<month>[a-z]+) (?P<year>[0-9]{4})",
            r"(?P<month>[a-z]+) (?P<day>[0-9]{1,2}), (?P<year>[0-9]{4})",
        ),
    )
)
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc`", "''''")


def normalize_answer(answer: str) -> str:
    """Return the answer in lower case, in the form used for comparison."""
    text = " ".join(unicodedata.normalize("NFKC", answer).split())
    return text.removesuffix(".").rstrip().casefold()


def says_unknown(answer: str) -> bool:
    """Return whether the answer is `UNKNOWN_ANSWER` in any case, or `I do not know`."""
    return normalize_answer(answer).translate(_APOSTROPHES) in ("i don't know", "i do not know")


def is_right(answer: str, right: Mapping[str, Any]) -> bool:
    """Return whether the answer is right. `right` has the keys `type` and `accepted`, the accepted answers of that
    type."""
    if right["type"] == "unknown":
        return says_unknown(answer)
    given = parse_answer(answer, right["type"])
    return given is not None and given in [parse_answer(one, right["type"]) for one in right["accepted"]]


def parse_answer(answer: str, kind: str) -> str | Decimal | None:
    """Parse an answer of this type; None if it is invalid. Two answers are equal if their parsed values are."""
    text = normalize_answer(answer)
    match kind:
        case "number":
            return Decimal(text.replace(",", "")) if _NUMBER.fullmatch(text) else None
        case "amount":
            amount = _AMOUNT.fullmatch(text)
            return Decimal(amount[1].replace(",", "")) if amount else None
        case "date":
            return _parse_date(text)
    return text or None


def _parse_date(text: str) -> str | None:
    for form in _DATES:
        if (found := form.fullmatch(text)) is None:
            continue
        month = found["month"]
        try:
            number = int(month) if month.isdigit() else 1 + _MONTHS.index(month)
            return date(int(found["year"]), number, int(found["day"])).isoformat()
        except ValueError:  # no such month or day
            return None
    return None


def compute_f1(cited: Sequence[str], right: Sequence[str], *, all_needed: bool) -> float:
    """Return the F1 score of the cited sources.

    Unless all sources are needed, one right source gives full recall. For a question without sources, the score is 1 if
    no source is cited, else 0.
    """
    given = set(cited)
    if not right or not given:
        return float(not right and not given)
    hits = len(given.intersection(right))
    if not hits:
        return 0.0
    precision, recall = hits / len(given), hits / len(right) if all_needed else 1.0
    return 2 * precision * recall / (precision + recall)
