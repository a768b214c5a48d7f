"""Files of lines of JSON that are only appended to, each line whole: match records, metrics, samples."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from gymposium.errors import BadOption, GymposiumError

if sys.platform != "win32":
    import fcntl

_SYNC = 1.0
"""Seconds between two syncs, at most. A killed process loses no line; a machine that loses power loses the lines of the
last second. A sync for every line would take longer than most matches."""
_CHUNK = 1 << 16


class LineWriter:
    """Appends lines of JSON to a file that nobody else writes meanwhile. A line is with the operating system when
    `write` returns. What a killed writer left of a last line is cut off when the file is opened (`torn`); a last line
    that only lacks its end is given one."""

    def __init__(self, path: str | Path, *, wait: bool = False, sync: bool = True) -> None:
        """With `wait` another writer of the file is waited for. Without `sync` it is the operating system's to say when
        lines come to the disk.

        Raises `BadOption` where another one has it open, and `OSError` where the file cannot be opened."""
        self.path, self._syncs = Path(path), sync
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            self._lock(wait=wait)
            self._regular = stat.S_ISREG(os.fstat(self._file).st_mode)
            self.size, rest = _ended(self._file)
            """Bytes so far, all of them whole lines."""
            self.torn = bool(rest) and not _is_object(rest)
            if self.torn:
                os.ftruncate(self._file, self.size)
            elif rest:
                self.size += len(rest) + os.write(self._file, b"\n")
        except BaseException:
            os.close(self._file)
            raise
        self._synced = time.monotonic()

    def _lock(self, *, wait: bool) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise BadOption(
                    f"{self.path} is being written by another process. Wait until it has ended, or name another place."
                ) from None

    def write(self, *lines: str) -> None:
        """Append these lines, all of them or none.

        Raises `GymposiumError` where the disk is full or fails; what was written before stands there whole."""
        data = memoryview("".join(f"{line}\n" for line in lines).encode())
        after = self.size + len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            if self._syncs and time.monotonic() - self._synced >= _SYNC:
                self._sync()
        except OSError as error:
            if self._regular:  # a device has no length
                os.ftruncate(self._file, self.size)
            raise GymposiumError(
                f"{self.path} cannot be written any further ({error.strerror}). All lines before stand there whole."
            ) from error
        self.size = after

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Bring all of it to the disk."""
        try:
            if self._syncs and self._regular:
                self._sync()
        finally:
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ended(file: int) -> tuple[int, bytes]:
    """Where the last whole line ends, and what stands behind it."""
    start = size = os.fstat(file).st_size
    rest = b""
    while start:
        start = max(0, start - _CHUNK)
        os.lseek(file, start, os.SEEK_SET)
        rest = os.read(file, size - start - len(rest)) + rest
        if (found := rest.rfind(b"\n")) >= 0:
            return start + found + 1, rest[found + 1 :]
    return 0, rest


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
