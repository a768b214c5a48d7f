"""Whole numbers in addresses and forms."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException

DIGITS = 18
"""The most digits that a number may have, so that it is read quickly and fits into any file."""


def number(text: str) -> int:
    """The whole number that `text` writes; -1 if it is none, or negative."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else -1


class _Number(Convertor[int]):
    """A number in a path; with too many digits, the request is bad."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        if (parsed := number(value)) < 0:
            raise HTTPException(400, f"A number in an address has at most {DIGITS} digits, not {len(value):,}.")
        return parsed

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", _Number())
