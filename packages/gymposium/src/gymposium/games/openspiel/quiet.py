"""Loading a game without the warning of known issues that OpenSpiel writes to the standard error stream."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STDERR = 2
_WARNING = re.compile(rb"Warning! The implementation of '\w+' has known issues\.[^\n]*\n?")
_MOST = 2**16


@contextmanager
def without_warning() -> Iterator[None]:
    """Drop the engine's warning of known issues. Other text, up to 64 KiB, reaches the standard error stream.

    The engine writes from C++, so the file descriptor is replaced meanwhile, for the whole process."""
    try:
        stderr = os.dup(_STDERR)
    except OSError:  # closed, so nobody reads the warning
        yield
        return
    written, end = os.pipe()
    try:
        os.set_blocking(written, False)  # a process that was forked meanwhile holds the other end, too
        os.dup2(end, _STDERR)
        try:
            yield
        finally:
            os.dup2(stderr, _STDERR)
            os.close(end)
            with suppress(BlockingIOError), open(_STDERR, "wb", closefd=False) as out:
                out.write(_WARNING.sub(b"", os.read(written, _MOST)))
    finally:
        os.close(written)
        os.close(stderr)
