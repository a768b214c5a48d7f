"""Append-only files of JSON lines, such as match records, metrics and samples."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import Self

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.plain_file import MOST_BYTES, compressed_path, is_compressed, plain_path

if sys.platform != "win32":
    import fcntl

_SYNC = 1.0
"""Minimum number of seconds between syncs.

A killed process loses no line, but a power failure loses the last second. A sync per line would take longer than most
matches."""
_CHUNK = 1 << 16
"""Number of bytes to read at a time when searching for the last line break."""
_APPEND = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_APPEND
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
"""Flags that open a file for appending, without following links or waiting for pipes."""


class LineWriter:
    """A writer that appends JSON lines to a file and locks it against other writers.

    When `append_lines` returns, the operating system has the lines. If an earlier writer was killed in the middle of a
    line, opening the file removes that line. A complete last line without a line break is kept."""

    def __init__(self, path: str | Path, *, wait: bool = False, sync: bool = True) -> None:
        """With `wait`, wait for another writer to close the file.

        With `sync=False`, the operating system decides when lines reach the disk.

        Raises `BadOption` if another writer has the file open, or if the file is compressed or a link, a pipe or a
        folder. Raises `OSError` if it cannot be opened."""
        self.path, self._syncs = Path(path), sync
        _check_not_compressed(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = os.open(self.path, _APPEND, 0o666)
        except OSError:
            if self.path.is_symlink():
                raise BadOption(
                    f"{self.path} is a symbolic link, which cannot be appended to. Name its target."
                ) from None
            raise
        try:
            found = os.fstat(self._file)
            self._regular = stat.S_ISREG(found.st_mode)
            if not (self._regular or stat.S_ISCHR(found.st_mode)):
                raise BadOption(f"{self.path} is not a regular file. Remove it, or name another file.")
            if self._regular and found.st_nlink > 1:
                raise BadOption(f"{self.path} is a hard link. Replace it with a copy.")
            self._lock(wait=wait)
            self.size, rest = self._split_last_line()
            """Size of the file in bytes."""
            self.torn = bool(rest) and not _is_object(rest)
            """True if an incomplete last line was removed."""
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
                    f"{self.path} is being written by another process. Wait for it to end, or name another file."
                ) from None

    def _split_last_line(self) -> tuple[int, bytes]:
        """Return the offset after the last line break, and the bytes after it.

        Raises `BadOption` if there are too many bytes."""
        start = size = os.fstat(self._file).st_size
        rest: list[bytes] = []
        while start:
            if size - start > MOST_BYTES:
                raise BadOption(f"{self.path}: its last line is larger than {MOST_BYTES:,} bytes. Name another file.")
            stop, start = start, max(0, start - _CHUNK)
            os.lseek(self._file, start, os.SEEK_SET)
            chunk = os.read(self._file, stop - start)
            line_break = chunk.rfind(b"\n")
            rest.append(chunk[line_break + 1 :])
            if line_break >= 0:
                return start + line_break + 1, b"".join(reversed(rest))
        return 0, b"".join(reversed(rest))

    def append_lines(self, *lines: str) -> None:
        """Append all of these lines, or none on failure.

        Raises `GymposiumError` if writing fails, for example on a full disk. Earlier lines stay intact."""
        data = memoryview("".join(f"{line}\n" for line in lines).encode())
        size = self.size + len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            if self._syncs and time.monotonic() - self._synced >= _SYNC:
                self._sync()
        except OSError as error:
            if self._regular:  # a device cannot be truncated
                os.ftruncate(self._file, self.size)
            raise GymposiumError(
                f"{self.path} cannot be appended to ({error.strerror}). All earlier lines are intact. Check "
                "permissions and free space."
            ) from error
        self.size = size

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Sync the file to the disk and close it."""
        try:
            if self._syncs and self._regular:
                self._sync()
        finally:
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _check_not_compressed(path: Path) -> None:
    """Raise `BadOption` if a file is compressed or its compressed form exists."""
    plain, packed = plain_path(path), compressed_path(plain_path(path))
    if packed.exists():
        raise BadOption(f"{packed} is compressed, so it cannot be appended to. Decompress it first:  gunzip {packed}")
    if is_compressed(path):
        raise BadOption(
            f"{path}: a compressed file cannot be appended to. Write {plain}, and compress it at the end:  "
            f"gzip -9n {plain}"
        )


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
