"""The budget of a command that reads logs: small files can expand to gigabytes, short texts to millions of values."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gymposium_arena.audit.episode import fail

SIZE, VALUES, SECONDS = 2**30, 10_000_000, 600.0
"""Limits for all logs of a command together: bytes when unpacked, values of JSON, and seconds to read them."""


@dataclass(slots=True)
class Budget:
    """What may still be read, of all logs together."""

    size: int = SIZE
    """Number of bytes, unpacked."""
    values: int = VALUES
    """Number of values, as the commas and brackets of the texts bound it."""
    ends: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be read."""
        return self.size < 0 or self.values < 0 or time.monotonic() > self.ends

    def check(self) -> None:
        """Raise `BadLog` if nothing more may be read."""
        if self.is_spent:
            fail(
                f"it is not read any further: all logs together may have {SIZE:,} bytes when they are unpacked and "
                f"{VALUES:,} values, and may take {SECONDS:g} s to read"
            )

    def take(self, size: int) -> None:
        """Note that bytes were read. Raises `BadLog` as `check`."""
        self.size -= size
        self.check()

    def take_values(self, text: bytes) -> None:
        """Note that a text is to be parsed. Raises `BadLog` as `check`."""
        self.values -= sum(map(text.count, (b",", b"[", b"{")))
        self.check()
