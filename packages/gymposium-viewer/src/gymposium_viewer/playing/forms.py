"""Forms sent by a browser."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_BYTES = 1 << 20
"""Maximum number of bytes in a form. The longest free-text reply fits."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form as ordered pairs of name and value. Names may repeat."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_query(cls, text: str) -> Form:
        """Parse a form from a query string (without `?`) or a URL-encoded body."""
        pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
        # browsers end lines in a text area with CR LF
        return cls(tuple((name, value.replace("\r\n", "\n")) for name, value in pairs))

    @classmethod
    async def from_request(cls, request: Request) -> Form:
        """Parse a form from a request's body. Raises `HTTPException` if the body is too long."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BYTES:
                raise HTTPException(413, f"The form has more than {MAX_BYTES:,} bytes. Shorten it.")
        return cls.from_query(body.decode("ascii", "replace"))

    def get(self, name: str) -> str | None:
        """Return the first value of a field, or None if the form lacks the field."""
        return next(iter(self.get_all(name)), None)

    def get_text(self, name: str) -> str:
        """Return the first value of a field, stripped of whitespace; empty if the form lacks the field."""
        return (self.get(name) or "").strip()

    def get_all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for key, value in self.fields if key == name]

    def get_prefixed(self, prefix: str) -> dict[str, str]:
        """Return the fields whose names begin with `prefix`, keyed by the rest of their names."""
        return {key.removeprefix(prefix): value for key, value in self.fields if key.startswith(prefix)}
