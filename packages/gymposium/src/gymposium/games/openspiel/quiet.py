"""Suppression of the known-issues warning that OpenSpiel writes to stderr when it loads a game."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STDERR = 2
_WARNING = re.compile(rb"Warning! The implementation of '\w+' has known issues\.[^\n]*\n?")
_MAX_BYTES = 2**16


@contextmanager
def suppress_warning() -> Iterator[None]:
    """Drop the engine's known-issues warning. Other text, up to 64 KiB, reaches stderr.

    The engine writes from C++, so the whole process's file descriptor is replaced during the block."""
    try:
        stderr = os.dup(_STDERR)
    except OSError:  # closed, so the warning cannot appear
        yield
        return
    written, end = os.pipe()
    try:
        os.set_blocking(written, False)  # a process forked meanwhile also holds the other end
        os.dup2(end, _STDERR)
        try:
            yield
        finally:
            os.dup2(stderr, _STDERR)
            os.close(end)
            with suppress(BlockingIOError), open(_STDERR, "wb", closefd=False) as out:
                out.write(_WARNING.sub(b"", os.read(written, _MAX_BYTES)))
    finally:
        os.close(written)
        os.close(stderr)
