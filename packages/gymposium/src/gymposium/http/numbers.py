"""Parse integers in URLs and forms."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException

DIGITS = 18
"""Maximum number of digits, to keep parsing fast."""


def parse_number(text: str) -> int:
    """Return the value of `text` if it is a non-negative integer of at most `DIGITS` digits, else -1."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else -1


class _NumberConvertor(Convertor[int]):
    """A converter for numbers in URL paths. Too many digits give status 400."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        if (parsed := parse_number(value)) < 0:
            raise HTTPException(400, f"A number in a URL must have at most {DIGITS} digits, not {len(value):,}.")
        return parsed


register_url_convertor("number", _NumberConvertor())
