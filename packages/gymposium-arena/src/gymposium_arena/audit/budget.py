"""Limits on reading logs, since small files can expand to gigabytes or millions of values."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gymposium_arena.audit.episode import fail

MAX_BYTES, MAX_VALUES, MAX_SECONDS = 2**30, 10_000_000, 600.0
"""Limits shared by all logs of a command: unpacked bytes, JSON values, and seconds to read them."""


@dataclass(slots=True)
class Budget:
    """The remaining budget for reading logs, shared by all of them."""

    size: int = MAX_BYTES
    """Number of unpacked bytes."""
    values: int = MAX_VALUES
    """Number of JSON values, estimated from the commas and brackets in the text."""
    deadline: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self.size < 0 or self.values < 0 or time.monotonic() > self.deadline

    def check(self) -> None:
        """Raise `BadLog` if the budget is used up."""
        if self.is_spent:
            fail(
                f"reading stopped: all logs together may hold {MAX_BYTES:,} unpacked bytes and "
                f"{MAX_VALUES:,} values, and take {MAX_SECONDS:g} s to read"
            )

    def spend_bytes(self, size: int) -> None:
        """Deduct bytes that were read. Raises `BadLog` like `check`."""
        self.size -= size
        self.check()

    def spend_values(self, text: bytes) -> None:
        """Deduct a text's JSON values before it is parsed. Raises `BadLog` like `check`."""
        self.values -= sum(map(text.count, (b",", b"[", b"{")))
        self.check()
