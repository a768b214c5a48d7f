"""The last lines of a program's standard error, for the error that explains why it ended."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from typing import TextIO

_LINES = 5
_LONGEST = 300
_KEPT = 100_000
"""Number of characters kept. Secrets in them are replaced before lines are shortened."""
_SECONDS = 1.0


class OutputTail:
    """The end of a program's output to `file`. A thread reads the output, so the program never blocks."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        """The program's standard error. Close it in this process once the program has started; otherwise the thread
        does not end."""
        self._text, self._is_cut = "", False
        self._thread = threading.Thread(target=self._read, args=(reading,), name="stderr of a server", daemon=True)
        self._thread.start()

    async def text(self, secrets: Mapping[str, str]) -> str:
        """Return the last lines as one, after the program's end; empty without lines. Values of `secrets` are
        replaced by `$NAME`."""
        await asyncio.to_thread(self._thread.join, _SECONDS)
        text, is_cut = self._text, self._is_cut
        given = sorted(((value, name) for name, value in secrets.items() if value), key=lambda one: -len(one[0]))
        for value, name in given:
            text = text.replace(value, f"${name}")
        if is_cut and given:  # the beginning may hold the rest of a value
            text = text[len(given[0][0]) :]
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " / ".join(line[:_LONGEST] for line in lines[-_LINES:])

    def _read(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="replace") as written:
            while piece := written.readline(_KEPT):
                text = self._text + piece
                self._is_cut = self._is_cut or len(text) > _KEPT
                self._text = text[-_KEPT:]
