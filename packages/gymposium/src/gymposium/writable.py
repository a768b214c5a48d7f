"""Checking that a path can be written before the work whose results go there begins."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gymposium.errors import BadOption

_PROBE = b"\n" * 4096


def check_writable(option: str, path: Path) -> Path:
    """Returns `path` if a file or a folder can be made or written there. The attempt leaves nothing behind. `option` is
    the name of the path on the command line, for the error.

    Raises `BadOption` with the reason if nothing can be written."""
    try:
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
        if existing.is_dir():
            with tempfile.TemporaryFile(dir=existing) as probe:
                probe.write(_PROBE)
        elif existing == path:
            with open(path, "ab"):
                pass
        else:
            raise NotADirectoryError(0, f"{existing} is not a folder")
    except OSError as error:
        raise BadOption(f"{option} {path}: cannot be written ({error.strerror}).") from error
    return path
