"""Parsing of whole numbers in addresses and forms."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException

DIGITS = 18
"""Maximum number of digits, so that parsing is fast."""


def number(text: str) -> int:
    """The value of `text`, or -1 if it is not a whole number from 0, of at most `DIGITS` digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else -1


class _Number(Convertor[int]):
    """A number in a path. Too many digits are a bad request (400)."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        if (parsed := number(value)) < 0:
            raise HTTPException(400, f"A number in an address has at most {DIGITS} digits, not {len(value):,}.")
        return parsed


register_url_convertor("number", _Number())
