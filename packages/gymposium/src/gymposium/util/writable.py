"""Checking that a path can be written before the work whose results go there begins."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from gymposium.errors import BadOption

_PROBE = b"\n" * 4096


def check_writable(option: str, path: Path) -> Path:
    """Return `path` if a file or a folder can be made or written there. The attempt leaves nothing behind. `option` is
    the name of the path on the command line, for the error.

    Raises `BadOption` with the reason if nothing can be written, and for a pipe or a socket."""
    try:
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
        if existing.is_dir():
            with tempfile.TemporaryFile(dir=existing) as probe:
                probe.write(_PROBE)
        elif existing == path:
            _check_file(path)
        else:
            raise NotADirectoryError(0, f"{existing} is not a folder")
    except OSError as error:
        raise BadOption(f"{option} {path}: cannot be written ({error.strerror}).") from error
    return path


def _check_file(path: Path) -> None:
    """Open an existing file for appending. Raises `OSError`, also for a pipe, a socket or a disk; never waits for
    one."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
        raise OSError(errno.EINVAL, "it is not a regular file")
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)))
