"""What a form on one of our pages sends back."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

MOST = 1 << 20
"""Bytes: the longest free text that a seat may say, and then some."""


@dataclass(frozen=True, slots=True)
class Form:
    """Fields by name, in their order; a name may stand several times."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> Form:
        """From the part of an address behind the question mark, or a body of the same form."""
        found = parse_qsl(text, keep_blank_values=True, errors="replace")
        # a browser ends the lines of a text area by CR LF
        return cls(tuple((name, value.replace("\r\n", "\n")) for name, value in found))

    @classmethod
    async def posted(cls, request: Request) -> Form:
        """From a request's body. Raises `HTTPException` where it is too long."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST:
                raise HTTPException(413, f"At most {MOST:,} bytes can be sent at once.")
        return cls.of(body.decode("ascii", "replace"))

    def get(self, name: str) -> str | None:
        """The first value; None where the field was not sent."""
        return next((value for key, value in self.fields if key == name), None)

    def text(self, name: str) -> str:
        """The first value without white space around it."""
        return (self.get(name) or "").strip()

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]

    def under(self, prefix: str) -> dict[str, str]:
        """The fields whose names begin so, without that."""
        return {key.removeprefix(prefix): value for key, value in self.fields if key.startswith(prefix)}
