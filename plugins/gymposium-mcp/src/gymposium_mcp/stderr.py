"""The last lines that a program writes on its standard error, for the error that says why it ended."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from typing import TextIO

_LINES = 5
_LONGEST = 300
_SECONDS = 1.0


class LastLines:
    """Reads what is written to `file` in a thread, so that the writer never waits, and keeps the last lines."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        """Where the program writes. Close it once the program has started: the thread ends with the last writer."""
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._thread = threading.Thread(target=self._read, args=(reading,), name="stderr of a server", daemon=True)
        self._thread.start()

    async def text(self) -> str:
        """The last lines in one, after the end of the program; empty if it wrote none."""
        await asyncio.to_thread(self._thread.join, _SECONDS)
        return " / ".join([*self._lines])

    def _read(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:
            while line := lines.readline(_LONGEST):
                if line.strip():
                    self._lines.append(line.strip())
