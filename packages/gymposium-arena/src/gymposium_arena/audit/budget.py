"""A budget for reading logs: small files can expand to gigabytes, and short texts to millions of values."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gymposium_arena.audit.episode import fail

SIZE, VALUES, SECONDS = 2**30, 10_000_000, 600.0
"""Limits shared by all logs of a command: unpacked bytes, JSON values, and seconds to read them."""


@dataclass(slots=True)
class Budget:
    """What may still be read, shared by all logs."""

    size: int = SIZE
    """Number of unpacked bytes."""
    values: int = VALUES
    """Number of JSON values, estimated from the commas and brackets in the text."""
    ends: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self.size < 0 or self.values < 0 or time.monotonic() > self.ends

    def check(self) -> None:
        """Raise `BadLog` if the budget is used up."""
        if self.is_spent:
            fail(
                f"reading stopped: all logs together may hold {SIZE:,} unpacked bytes and "
                f"{VALUES:,} values, and take {SECONDS:g} s to read"
            )

    def take(self, size: int) -> None:
        """Note that bytes were read. Raises `BadLog` like `check`."""
        self.size -= size
        self.check()

    def take_values(self, text: bytes) -> None:
        """Note that a text is about to be parsed. Raises `BadLog` like `check`."""
        self.values -= sum(map(text.count, (b",", b"[", b"{")))
        self.check()
