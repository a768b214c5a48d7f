"""Whole numbers that stand in addresses and forms."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException

DIGITS = 18
"""A number has no more digits than this: it fits into any file, and it is read in no time."""


def number(text: str) -> int:
    """The whole number from 0 that is written so; -1 where none is."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else -1


class _Number(Convertor[int]):
    """A number in a path. One with too many digits is a bad request."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        if (found := number(value)) < 0:
            raise HTTPException(400, f"A number in an address has at most {DIGITS} digits, not {len(value):,}.")
        return found

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", _Number())
