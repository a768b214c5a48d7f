"""A check that a path is writable, to run before the work that writes there."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from gymposium.errors import BadOption

_PROBE = b"\n" * 4096


def check_writable(option: str, path: Path) -> Path:
    """Return `path` if a file or folder can be created or written there. The check leaves nothing behind.

    `option` is the path's command-line option, named in the error. Raises `BadOption` with the reason if the path is
    not writable, or is a pipe or a socket."""
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
        raise BadOption(f"{option} {path}: cannot be written ({error.strerror}). Choose another path.") from error
    return path


def _check_file(path: Path) -> None:
    """Raise `OSError` if an existing file cannot be appended to, or is a pipe, a socket or a block device."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
        raise OSError(errno.EINVAL, "it is not a regular file")
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)))
