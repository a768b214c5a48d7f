"""Reading files that others made: regular files only, up to a size, so that none can stall or fill the process."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

MOST_BYTES = 64 * 2**20
"""Size of the largest file that is read whole, and of the longest line of a file that is read by lines."""


def open_plain(path: str | Path, *, follow: bool = True) -> BufferedReader:
    """Open a regular file for reading. `follow=False` also refuses a symbolic link to one.

    Raises `OSError`, also for a pipe, a device or a folder; never waits for one."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_plain(path: str | Path) -> None:
    """Check a file that a library opens by its path. Raises `OSError` as `open_plain`."""
    open_plain(path).close()


def read_plain(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file. Raises `OSError`, also for a file of more than `most` bytes."""
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size <= most and len(content := file.read(most + 1)) <= most:
            return content
    raise _too_large("it", path, most)


def read_plain_text(path: str | Path, most: int = MOST_BYTES) -> str:
    """Read a regular file of UTF-8 text, without the byte order mark that some editors write. Raises `OSError` as
    `read_plain`, and `UnicodeDecodeError`."""
    return read_plain(path, most).decode("utf-8-sig")


def plain_lines(path: str | Path, most: int = MOST_BYTES, *, follow: bool = True) -> Iterator[bytes]:
    """Yield the lines of a regular file with their line breaks. `follow` is as in `open_plain`.

    Raises `OSError`, also for a line of more than `most` bytes."""
    with open_plain(path, follow=follow) as file:
        number = 0
        while line := file.readline(most + 1):
            number += 1
            if len(line) > most:
                raise _too_large(f"line {number}", path, most)
            yield line


def _too_large(what: str, path: str | Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"{what} is larger than {most:,} bytes", str(path))
